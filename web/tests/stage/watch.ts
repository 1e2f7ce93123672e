/**
 * Runs in each page before its scripts. Reports as console errors what no page may show: raw markers of the log, mentions, escapes, and
 * values that were not there. Elements with data-raw show what an agent wrote as it is, and are left out.
 */
export function watchPage() {
  const never = /\[outcome\]|<@|\\u[0-9a-f]{4}|\bundefined\b|\[object /i;
  const notNumber = /\bNaN\b/;
  const attributes = ['title', 'aria-label', 'placeholder', 'alt'];
  const told = new Set<string>();

  function check(text: string | null, where: Element | null) {
    if (!text || !(never.test(text) || notNumber.test(text))) return;
    if (where?.closest('[data-raw], script, style')) return;
    const fault = `visible text: ${text.trim().slice(0, 200)} in ${where?.tagName.toLowerCase()}.${where?.className}`;
    if (told.has(fault)) return;
    told.add(fault);
    console.error(fault);
  }
  function checkElement(element: Element) {
    for (const name of attributes) check(element.getAttribute(name), element);
  }
  function checkTree(node: Node) {
    if (node instanceof Text) check(node.data, node.parentElement);
    if (!(node instanceof Element)) return;
    const walk = document.createTreeWalker(node, NodeFilter.SHOW_ELEMENT | NodeFilter.SHOW_TEXT);
    for (let at: Node | null = node; at; at = walk.nextNode()) {
      if (at instanceof Element) checkElement(at);
      else check((at as Text).data, at.parentElement);
    }
  }

  document.addEventListener('securitypolicyviolation', (event) =>
    console.error(`policy: ${event.violatedDirective} ${event.blockedURI} ${event.sample}`),
  );
  new MutationObserver((changes) => {
    for (const change of changes) {
      if (change.type === 'childList') change.addedNodes.forEach(checkTree);
      else if (change.type === 'attributes') checkElement(change.target as Element);
      else check((change.target as Text).data, change.target.parentElement);
    }
  }).observe(document, {
    subtree: true,
    childList: true,
    characterData: true,
    attributes: true,
    attributeFilter: attributes,
  });
}
