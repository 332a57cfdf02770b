import { fc, test } from '@fast-check/vitest';
import { describe, expect, it } from 'vitest';
import { format, parse } from '../../../../lib/view/page/address.js';

const NAMES = ['services', 'tenants/a?b', '100 %'];

describe('the address of what the page shows', () => {
  test.prop([
    fc.constantFrom(...NAMES),
    fc.option(fc.string({ minLength: 1, unit: 'binary' }), { nil: undefined }),
    fc.string(),
    fc.string(),
  ])('should lead back to it, whatever is in it', (name, id, state, search) => {
    const route = { name, ...(id !== undefined && { id }), state, search };
    expect(parse(format(route), NAMES)).toEqual(route);
  });

  it('should be short where there is little to say', () => {
    expect(format({ name: 'services', state: '', search: '' })).toBe('#/services');
    expect(format({ name: 'services', id: 'a/b', state: 'failing', search: 'x y' })).toBe('#/services/a%2Fb?state=failing&search=x+y');
  });

  it('should lead somewhere, whatever somebody has typed', () => {
    const somewhere = { name: 'services', state: '', search: '' };
    for (const hash of ['', '#', '#/', '#/nobody', '#ids', '#/services/']) expect(parse(hash, NAMES)).toEqual(somewhere);
    expect(parse('#/services/%zz', NAMES)).toEqual({ ...somewhere, id: '%zz' });
    expect(parse('#/x', [])).toMatchObject({ name: '' });
  });

  it('should hold half of a surrogate pair, which no address can', () => {
    expect(format({ name: 'services', id: 'a\ud800', state: '', search: '' })).toBe('#/services/a%EF%BF%BD');
  });
});
