export type { ClientLike, Connection, ConnectionConfig, NotificationLike, PooledClientLike, PoolLike } from './connection.js';
export { leadership, type LeadershipConfig } from './leadership.js';
export { notifications, type NotificationsConfig } from './notifications.js';
export type { Term } from '../config.js';
