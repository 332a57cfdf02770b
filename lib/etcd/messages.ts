/** What stands above each answer. Numbers of 64 bits come as strings. */
export interface Header {
  readonly cluster_id?: string;
  readonly revision?: string;
}

/** A key as etcd stores it. What is empty or 0 is left out. */
export interface KeyValue {
  readonly key: string;
  readonly value?: string;
  readonly create_revision?: string;
  readonly mod_revision?: string;
  readonly lease?: string;
}

/** What a range request is answered with. */
export interface RangeAnswer {
  readonly header: Header;
  readonly kvs?: readonly KeyValue[];
  readonly more?: boolean;
}

/** What a transaction is answered with. */
export interface TxnAnswer {
  readonly header: Header;
  readonly succeeded?: boolean;
  readonly responses?: readonly {
    readonly response_range?: { readonly kvs?: readonly KeyValue[] };
    readonly response_txn?: { readonly succeeded?: boolean };
  }[];
}

/** What a lease is granted with. */
export interface LeaseAnswer {
  readonly ID?: string;
  /** In seconds. Left out where the lease is gone. */
  readonly TTL?: string;
}

/** What a watch says. */
export interface WatchAnswer {
  readonly header: Header;
  readonly created?: boolean;
  readonly canceled?: boolean;
  readonly compact_revision?: string;
  readonly cancel_reason?: string;
  readonly events?: readonly { readonly type?: 'PUT' | 'DELETE'; readonly kv: KeyValue }[];
}
