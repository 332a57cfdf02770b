export { EtcdError } from './etcd-error.js';
export type { BodyReader, FetchBody, FetchInit, FetchLike, FetchResponse } from './fetch-like.js';
export { keys } from './keys.js';
export type { KeysConfig } from './keys-config.js';
