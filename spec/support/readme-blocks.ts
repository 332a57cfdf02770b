import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import ts from 'typescript';
import type { Block } from './readmes.js';

/** What a block may take for granted, besides all of rxjs, the engine and Vitest. */
const TAKEN_FOR_GRANTED = `
  import * as api from '@opentelemetry/api';
  import * as engine from 'kreconciler/operators';
  import * as all from 'kreconciler';
  import * as rxjs from 'rxjs';
  import * as vitest from 'vitest';
  import type { JsMsg as Message } from '@nats-io/jetstream';
  declare global {
    type Reconciler = engine.Reconciler;
    type Step = engine.Step;
    type Trigger = engine.Trigger;
    type EventStream = all.EventStream;
    type Command = engine.Command;
    type JsMsg = Message;
    const { context }: typeof api;
    const { it, expect }: typeof vitest;
    const { acknowledge, byPriority, debounceById, fair, logSteps, recordMetrics, tracing, RetryError, constant, loop, reconcile, resync, route, Controller }: typeof all;
    const { debounceTime, defer, EMPTY, filter, from, fromEvent, groupBy, lastValueFrom, map, mergeMap, of, retry, Subject, tap, timer }: typeof rxjs;
    const changes$: rxjs.Observable<string>;
    const ids$: rxjs.Observable<string>;
    const requests$: rxjs.Observable<string>;
    const orders$: rxjs.Observable<{ id: string; headers: Record<string, string> }>;
    const nodeChanges$: rxjs.Observable<{ serviceIds: string[] }>;
    const lease$: rxjs.Observable<boolean>;
    const reconciler: engine.Reconciler<any>;
    const streams: Record<string, all.EventStream>;
    const config: Partial<all.Config>;
    const settings: engine.ReconcileSettings;
    const controller: all.Controller;
    const logger: all.Logger;
    const signal: AbortSignal;
    const emitter: import('node:events').EventEmitter;
    const consumer: { messages(): AsyncIterable<Message> };
    const owned: all.Shards;
    const messagesOf: (subject: string, signal: AbortSignal) => AsyncIterable<engine.Trigger>;
    const save: (id: string, wanted: unknown) => Promise<void>;
    const userOf: (request: Request) => Promise<{ name: string; isOnCall: boolean } | undefined>;
    const isReady: (node: { serviceIds: string[] }) => boolean;
    const alert: (id: string, reason: string) => void;
    const connect: () => rxjs.Observable<string>;
    const render: (id: string, signal: AbortSignal) => Promise<void>;
    const check: (id: string) => Promise<void>;
    const allIds: (signal: AbortSignal) => Promise<string[]>;
    const fetchAllIds: (signal: AbortSignal) => Promise<string[]>;
    const allServices: string[];
    const subscribe: (config: { signal: AbortSignal }) => AsyncIterable<{ id: string }>;
  }`;

/** What the compiler says about the TypeScript of `blocks`, each a module of its own. */
export function complaintsAbout(blocks: readonly Block[], root: string): string[] {
  const files = new Map([[join(root, 'given.ts'), TAKEN_FOR_GRANTED]]);
  for (const { path, name, code } of blocks) files.set(join(root, `${path}-${name}.ts`), `${code}\nexport {};`);
  const { config } = ts.readConfigFile(join(root, 'tsconfig.json'), (path) => readFileSync(path, 'utf8')) as { config: object };
  const { options } = ts.parseJsonConfigFileContent({ ...config, include: [], files: [] }, ts.sys, root);
  const disk = ts.createCompilerHost(options);
  const host: ts.CompilerHost = {
    ...disk,
    fileExists: (path) => files.has(path) || disk.fileExists(path),
    getSourceFile: (path, ...rest) => {
      const code = files.get(path);
      return code === undefined ? disk.getSourceFile(path, ...rest) : ts.createSourceFile(path, code, ts.ScriptTarget.ES2022);
    },
  };
  const program = ts.createProgram([...files.keys()], { ...options, noPropertyAccessFromIndexSignature: false }, host);
  return [...files.keys()].flatMap((path) => {
    const file = program.getSourceFile(path);
    return ts.getPreEmitDiagnostics(program, file).map(({ start = 0, messageText }) => {
      const line = file?.text.slice(0, start).split('\n').length ?? 0;
      return `${file?.text.split('\n')[line - 1]?.trim() ?? path}: ${ts.flattenDiagnosticMessageText(messageText, ' ')}`;
    });
  });
}
