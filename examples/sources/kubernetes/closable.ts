import type { KubeConfig } from '@kubernetes/client-node';

/**
 * The same config, of which all connections can be closed. The client's requests can be aborted only once they are answered, so
 * that those to a silent server would stay open for ever.
 */
export function closable(kubeConfig: KubeConfig): { readonly own: KubeConfig; readonly close: () => void } {
  const agents: (object | undefined)[] = [];
  const overrides: Pick<KubeConfig, 'applyToFetchOptions' | 'applySecurityAuthentication'> = {
    // For watches.
    applyToFetchOptions: async (options) => {
      const init = await kubeConfig.applyToFetchOptions(options);
      agents.push(init.agent as object | undefined);
      return init;
    },
    // For all else.
    applySecurityAuthentication: async (context) => {
      await kubeConfig.applySecurityAuthentication(context);
      agents.push(context.getAgent());
    },
  };
  return {
    own: Object.assign(Object.create(kubeConfig) as KubeConfig, overrides),
    close: () => {
      for (const agent of agents as (undefined | { destroy?: () => void })[]) agent?.destroy?.();
    },
  };
}
