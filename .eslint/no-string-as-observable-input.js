import ts from 'typescript';

/** Where rxjs takes an ObservableInput, or a function that returns one. */
const TAKES = [
  'buffer bufferToggle bufferWhen catchError combineLatest combineLatestWith concat concatMap concatMapTo concatWith debounce defer',
  'delayWhen exhaustMap expand forkJoin from iif merge mergeMap mergeMapTo mergeScan mergeWith onErrorResumeNext onErrorResumeNextWith',
  'race raceWith repeat retry sample sequenceEqual skipUntil switchMap switchMapTo switchScan takeUntil throttle using window',
  'windowToggle windowWhen withLatestFrom zip zipWith',
].flatMap((names) => names.split(' '));
/** Where it takes what the source emits for one. */
const FLATTENS = ['combineLatestAll', 'concatAll', 'exhaustAll', 'mergeAll', 'switchAll', 'zipAll'];

/**
 * A string is an iterable of its characters, so TypeScript takes it for an ObservableInput: `mergeMap(({ id }) => id)` emits a
 * letter at a time. Whoever means one value writes `map`, `[id]` or `of(id)`.
 *
 * @type {import('eslint').Rule.RuleModule}
 */
export const noStringAsObservableInput = {
  meta: {
    type: 'problem',
    docs: { description: 'Disallow a string where rxjs takes an ObservableInput.' },
    messages: { letters: 'rxjs would emit this string letter by letter; write `[value]` or `of(value)` if one value is meant.' },
  },
  create(context) {
    const services = /** @type {import('@typescript-eslint/parser').ParserServicesWithTypeInformation} */ (
      context.sourceCode.parserServices
    );
    const checker = services.program.getTypeChecker();

    /** @param {ts.Type} type @returns {boolean} */
    const isText = (type) => (type.isUnion() ? type.types.some(isText) : (type.flags & ts.TypeFlags.StringLike) !== 0);

    /** @param {any} callee */
    const isOfRxjs = (callee) => {
      const symbol = services.getSymbolAtLocation(callee);
      const origin = symbol !== undefined && symbol.flags & ts.SymbolFlags.Alias ? checker.getAliasedSymbol(symbol) : symbol;
      return origin?.declarations?.some((declaration) => /[\\/]node_modules[\\/]rxjs[\\/]/.test(declaration.getSourceFile().fileName));
    };

    return {
      CallExpression(node) {
        const { callee } = node;
        if (callee.type !== 'Identifier') return;
        const [takes, flattens] = [TAKES.includes(callee.name), FLATTENS.includes(callee.name)];
        if (!(takes || flattens) || !isOfRxjs(callee)) return;
        if (flattens) {
          const source = checker.getTypeArguments(/** @type {any} */ (services.getTypeAtLocation(/** @type {any} */ (node))))[0];
          if (source !== undefined && isText(source)) context.report({ node, messageId: 'letters' });
          return;
        }
        for (const argument of node.arguments) {
          const type = services.getTypeAtLocation(/** @type {any} */ (argument));
          const types = [type, ...type.getCallSignatures().map((signature) => signature.getReturnType())];
          if (types.some(isText)) context.report({ node: argument, messageId: 'letters' });
        }
      },
    };
  },
};
