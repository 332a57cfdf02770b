export type { Term } from '../config.js';
export type { ClientLike, Connection, ConnectionConfig, NotificationLike, PooledClientLike, PoolLike } from './connection.js';
export { leadership } from './leadership.js';
export type { LeadershipConfig } from './leadership-config.js';
export { notifications } from './notifications.js';
export type { NotificationsConfig } from './notifications-config.js';
