export type { Term } from '../config.js';
export type { EtcdConfig } from './etcd-config.js';
export { EtcdError } from './etcd-error.js';
export type { BodyReader, FetchBody, FetchInit, FetchLike, FetchResponse } from './fetch-like.js';
export { keys } from './keys.js';
export type { KeysConfig } from './keys-config.js';
export { leadership } from './leadership.js';
export type { LeadershipConfig } from './leadership-config.js';
