// A picture of the page as a flat list of marks: from there it becomes SVG or PNG, without styles from elsewhere.

export type Matrix = readonly [a: number, b: number, c: number, d: number, e: number, f: number];

export interface PathMark {
  readonly kind: "path";
  readonly matrix: Matrix;
  readonly d: string;
  readonly fill: string;
  readonly fillOpacity: number;
  readonly stroke: string;
  readonly strokeOpacity: number;
  readonly strokeWidth: number;
}

export interface TextMark {
  readonly kind: "text";
  readonly matrix: Matrix;
  readonly text: string;
  readonly x: number;
  readonly y: number;
  readonly size: number;
  readonly weight: string;
  readonly fill: string;
  readonly opacity: number;
  readonly anchor: "start" | "middle" | "end";
}

export interface ImageMark {
  readonly kind: "image";
  readonly canvas: HTMLCanvasElement;
  readonly x: number;
  readonly y: number;
  readonly width: number;
  readonly height: number;
}

export type Mark = PathMark | TextMark | ImageMark;

/** All that is drawn below an element, in its own coordinates; what screen readers alone are told is left out. */
export function marksOf(element: Element): Mark[] {
  const { left, top } = element.getBoundingClientRect();
  const marks: Mark[] = [];
  collect(element, { left, top }, marks);
  return marks;
}

interface Origin {
  readonly left: number;
  readonly top: number;
}

function collect(node: Node, origin: Origin, marks: Mark[]): void {
  if (node instanceof Text) {
    if (node.parentElement instanceof HTMLElement) marks.push(...htmlText(node, origin));
    return;
  }
  if (!(node instanceof Element) || !node.checkVisibility({ visibilityProperty: true })) return;
  // Words for screen readers alone are clipped away.
  if (getComputedStyle(node).clipPath !== "none") return;
  if (node instanceof HTMLCanvasElement) marks.push(imageOf(node, origin));
  else if (node instanceof SVGTextElement) marks.push(...svgText(node, origin));
  else if (node instanceof SVGGeometryElement) marks.push(...pathOf(node, origin));
  else for (const child of node.childNodes) collect(child, origin, marks);
}

function imageOf(canvas: HTMLCanvasElement, { left, top }: Origin): ImageMark {
  const box = canvas.getBoundingClientRect();
  const { width, height } = box;
  return { kind: "image", canvas, x: box.left - left, y: box.top - top, width, height };
}

function matrixOf(element: SVGGraphicsElement, { left, top }: Origin): Matrix {
  const matrix = element.getScreenCTM() ?? new DOMMatrix();
  const { a, b, c, d, e, f } = matrix;
  return [a, b, c, d, e - left, f - top];
}

function pathOf(element: SVGGeometryElement, origin: Origin): PathMark[] {
  const style = getComputedStyle(element);
  const opacity = opacityOf(element);
  return [
    {
      kind: "path",
      matrix: matrixOf(element, origin),
      d: pathData(element),
      fill: paint(style.fill),
      fillOpacity: opacity * Number(style.fillOpacity),
      stroke: paint(style.stroke),
      strokeOpacity: opacity * Number(style.strokeOpacity),
      strokeWidth: Number.parseFloat(style.strokeWidth),
    },
  ].filter(({ fill, stroke }) => fill !== "none" || stroke !== "none") as PathMark[];
}

/** Its own opacity times that of what it stands in. */
function opacityOf(element: Element): number {
  let opacity = 1;
  for (let at: Element | null = element; at && at !== document.body; at = at.parentElement)
    opacity *= Number(getComputedStyle(at).opacity);
  return opacity;
}

/** Any colour as red, green and blue, as every reader of SVG knows them. */
function paint(color: string): string {
  if (color === "none" || color.startsWith("rgb")) return color;
  const context = document.createElement("canvas").getContext("2d", { willReadFrequently: true });
  if (!context) return color;
  context.fillStyle = color;
  context.fillRect(0, 0, 1, 1);
  const [red, green, blue, alpha] = context.getImageData(0, 0, 1, 1).data;
  return `rgba(${red}, ${green}, ${blue}, ${(alpha ?? 255) / 255})`;
}

function pathData(element: SVGGeometryElement): string {
  const at = (name: string) => Number(element.getAttribute(name) ?? 0);
  switch (element.localName) {
    case "rect":
      return `M${at("x")} ${at("y")}h${at("width")}v${at("height")}h${-at("width")}z`;
    case "line":
      return `M${at("x1")} ${at("y1")}L${at("x2")} ${at("y2")}`;
    case "circle": {
      const [x, y, r] = [at("cx"), at("cy"), at("r")];
      return `M${x - r} ${y}a${r} ${r} 0 1 0 ${2 * r} 0a${r} ${r} 0 1 0 ${-2 * r} 0z`;
    }
    default:
      return element.getAttribute("d") ?? "";
  }
}

function svgText(element: SVGTextElement, origin: Origin): TextMark[] {
  const style = getComputedStyle(element);
  const anchor = style.textAnchor as TextMark["anchor"];
  const size = Number.parseFloat(style.fontSize);
  const shift = Number.parseFloat(element.getAttribute("dy") ?? "0") * size;
  const common = { kind: "text", matrix: matrixOf(element, origin), size } as const;
  const own = {
    ...{ weight: style.fontWeight, fill: paint(style.fill), opacity: opacityOf(element) },
    ...{ x: Number(element.getAttribute("x") ?? 0), y: Number(element.getAttribute("y") ?? 0) },
  };
  const marks: TextMark[] = [];
  let x = own.x;
  for (const child of element.childNodes) {
    const text = child.textContent ?? "";
    if (text === "") continue;
    const inner = child instanceof SVGTSpanElement ? getComputedStyle(child) : style;
    if (child instanceof SVGTSpanElement) x += Number(child.getAttribute("dx") ?? 0);
    const fill = paint(inner.fill);
    marks.push({
      ...common,
      ...own,
      text,
      x,
      y: own.y + shift,
      anchor,
      fill,
      weight: inner.fontWeight,
    });
    if (child instanceof Text && anchor === "start")
      x += element.getSubStringLength(0, text.length);
  }
  return marks;
}

/** One mark per line of a text of HTML. */
function htmlText(node: Text, { left, top }: Origin): TextMark[] {
  const text = node.data.trim();
  const parent = node.parentElement;
  if (text === "" || !parent?.checkVisibility({ visibilityProperty: true })) return [];
  const range = document.createRange();
  range.selectNodeContents(node);
  const [box] = range.getClientRects();
  if (!box) return [];
  const style = getComputedStyle(parent);
  const size = Number.parseFloat(style.fontSize);
  return [
    {
      ...{ kind: "text", matrix: [1, 0, 0, 1, 0, 0], text, anchor: "start" },
      ...{ x: box.left - left, y: box.top - top + box.height / 2 + size * 0.35, size },
      ...{ weight: style.fontWeight, fill: paint(style.color), opacity: opacityOf(parent) },
    },
  ];
}
