// Puts views in the page. A slot is an element of index.html; its view is drawn again only when its
// data changed, and keyboard focus survives that.

type View<Data> = (data: Data) => Element;

export type Mount = <Data extends object>(slot: string, view: View<Data>, data: Data) => void;

export function createSlots(root: Document): Mount {
  const shown = new Map<string, { view: unknown; data: object }>();
  return (slot, view, data) => {
    const before = shown.get(slot);
    if (before?.view === view && sameEntries(before.data, data)) return;
    shown.set(slot, { view, data });
    const place = root.getElementById(slot);
    if (!place) throw new RangeError(`the page has no slot called ${slot}`);
    const focused = place.contains(root.activeElement) ? (root.activeElement as HTMLElement) : null;
    const selection = focused instanceof HTMLTextAreaElement ? focused.selectionEnd : null;
    place.replaceChildren(view(data));
    if (!focused?.id) return;
    const heir = root.getElementById(focused.id);
    heir?.focus({ preventScroll: true });
    if (heir instanceof HTMLTextAreaElement) heir.setSelectionRange(selection, selection);
  };
}

function sameEntries(a: object, b: object): boolean {
  const entries = Object.entries(a);
  const others = b as Record<string, unknown>;
  return (
    entries.length === Object.keys(b).length &&
    entries.every(([name, value]) => Object.is(value, others[name]))
  );
}
