// Different spellings of the same domain name.
import { afterAll, beforeAll, expect } from 'vitest';
import { guarantee } from '../support/guarantee.ts';
import { startService, type TestService } from '../support/service.ts';

let service: TestService;

beforeAll(async () => {
  service = await startService();
});
afterAll(() => service.stop());

guarantee(15, 'All spellings of an internationalized domain name denote the same website', async () => {
  const domains = {
    'xn--bcher-kva.example': [
      'bücher.example',
      'BÜCHER.EXAMPLE',
      'bücher.example'.normalize('NFD'),
      'xn--bcher-kva.example',
      'XN--BCHER-KVA.Example',
      'bücher.example.',
      'www.bücher.example',
      'WWW.Bücher.example.',
      'http://bücher.example',
      'HTTPS://www.bücher.example:8443/a?b=c#d',
      'http://b%C3%BCcher.example/',
      'bü\u00adcher.example',
      'bü\u2060cher.example',
      'ｂüｃｈｅｒ．ｅｘａｍｐｌｅ',
      'ｗｗｗ。bücher。example。',
      'bücher｡example',
    ],
    'xn--strae-oqa.example': ['straße.example', 'STRAẞE.example', 'xn--strae-oqa.example', 'www.straße.example'],
    'xn--wgv71a119e.example': ['日本語.example', '日本語。example', 'xn--wgv71a119e.example', 'https://日本語.example/日本語'],
    'xn--mgbh0fb.example': ['مثال.example', 'xn--mgbh0fb.example', 'http://مثال.example./'],
    'xn--fiqs8s.xn--fiqs8s': ['中国.中国', '中国。中国', 'xn--fiqs8s.xn--fiqs8s', 'www.中国.XN--FIQS8S'],
  };
  for (const [domain, spellings] of Object.entries(domains)) {
    const { api } = await service.createUser();
    const responses = await Promise.all(spellings.map((spelling) => api.post('/api/v1/websites', { form: { domain: spelling } })));
    expect([domain, responses.map(({ status }) => status).sort()]).toEqual([domain, [201, ...spellings.slice(1).map(() => 409)]]);
    expect((await api.get('/api/v1/websites')).body.data).toMatchObject([{ domain }]);
    for (const spelling of spellings.filter((text) => !text.includes('/'))) {
      expect((await api.get(`/api/v1/domains/${encodeURIComponent(spelling)}`)).body.data).toMatchObject({ domain });
    }
  }
  const count = Object.keys(domains).length;
  return `${Object.values(domains).flat().length} spellings of ${count} domains, ${count} websites`;
});
