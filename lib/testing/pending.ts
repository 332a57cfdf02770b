/** What Node says of a resource, as far as it is asked here; which of these there are depends on what it is. */
interface Resource {
  /** Timers and handles: whether it keeps the process alive. */
  readonly hasRef?: () => boolean;
  /** Timers: it is cleared, or has fired. */
  readonly _destroyed?: boolean;
  /** Timers: the delay in ms; and the same for an interval. */
  readonly _idleTimeout?: number;
  readonly _repeat?: number | null;
  /** Streams: whether somebody reads. One that nobody reads, such as the standard output, keeps nothing alive. */
  readonly reading?: boolean;
  /** Jobs of `node:crypto`: whom to give the result to. One that is done at once has nobody. */
  readonly ondone?: unknown;
  /** `node:zlib`: what is being compressed. */
  readonly buffer?: unknown;
}

const STREAMS = new Set(['TCPWRAP', 'PIPEWRAP', 'TTYWRAP']);
/** They wait from when they are made until they call back. */
const REQUESTS = /(?:REQ|REQWRAP|REQCALLBACK|REQPROMISE|CONNECTWRAP|SENDWRAP|WRITEWRAP|SHUTDOWNWRAP|QUERYWRAP)$/u;
const JOBS = /REQUEST$/u;

/** Whether a resource of this type can ever be {@link isPending}. */
export function canWait(type: string, resource: object): boolean {
  return isHandle(resource) || type === 'ZLIB' || JOBS.test(type) || REQUESTS.test(type);
}

/** Whether it is over when it has called back once; of the others it can be asked. */
export function isOverAfterCallback(type: string, resource: object): boolean {
  return type !== 'ZLIB' && !isHandle(resource);
}

/** Whether somebody waits for it, so that it keeps the process alive. */
export function isPending(type: string, resource: object): boolean {
  const { _destroyed, reading, ondone, buffer } = resource as Resource;
  if (isHandle(resource)) return resource.hasRef() && _destroyed !== true && (!STREAMS.has(type) || reading === true);
  if (type === 'ZLIB') return buffer !== undefined && buffer !== null;
  return JOBS.test(type) ? typeof ondone === 'function' : REQUESTS.test(type);
}

/** Whether it is a timer without a delay. */
export function isShortTimer(type: string, resource: object): boolean {
  const { _idleTimeout, _repeat } = resource as Resource;
  return type === 'Timeout' && _idleTimeout === 1 && typeof _repeat !== 'number';
}

function isHandle(resource: object): resource is Required<Pick<Resource, 'hasRef'>> {
  return typeof (resource as Resource).hasRef === 'function';
}
