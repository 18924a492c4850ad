// A picture with its caption below it, as an SVG document or as a PNG.

import type { Mark, TextMark } from "./marks";

export interface Picture {
  readonly marks: readonly Mark[];
  readonly width: number;
  readonly height: number;
  readonly paper: string;
}

const font = "system-ui, -apple-system, 'Segoe UI', Roboto, 'Helvetica Neue', Arial, sans-serif";
const margin = 20;
const captionSize = 12;
const captionLine = 17;

/** Adds paper around the marks and the caption below them. */
export function captioned(
  marks: readonly Mark[],
  size: { readonly width: number; readonly height: number },
  caption: string,
  colors: { readonly paper: string; readonly ink: string },
): Picture {
  const width = Math.ceil(Math.max(320, size.width)) + 2 * margin;
  const lines = wrap(caption, width - 2 * margin);
  const captionTop = Math.ceil(size.height) + 2 * margin + captionSize;
  const text = (line: string, at: number): TextMark => ({
    ...{ kind: "text", matrix: [1, 0, 0, 1, 0, 0], text: line, anchor: "start", opacity: 1 },
    ...{ x: margin, y: captionTop + at * captionLine, size: captionSize, weight: "400" },
    fill: colors.ink,
  });
  const moved = marks.map((mark) => {
    if (mark.kind === "image") return { ...mark, x: mark.x + margin, y: mark.y + margin };
    const [a, b, c, d, e, f] = mark.matrix;
    return { ...mark, matrix: [a, b, c, d, e + margin, f + margin] as const };
  });
  return {
    marks: [...moved, ...lines.map(text)],
    width,
    height: captionTop + (lines.length - 1) * captionLine + margin,
    paper: colors.paper,
  };
}

export function toSvg({ marks, width, height, paper }: Picture): string {
  const parts = marks.map((mark) => {
    if (mark.kind === "image") {
      const { x, y, canvas } = mark;
      const size = `width="${round(mark.width)}" height="${round(mark.height)}"`;
      return `<image x="${round(x)}" y="${round(y)}" ${size} preserveAspectRatio="none" href="${canvas.toDataURL()}"/>`;
    }
    const matrix = `transform="matrix(${mark.matrix.map(round).join(" ")})"`;
    if (mark.kind === "text") {
      const place = `x="${round(mark.x)}" y="${round(mark.y)}" text-anchor="${mark.anchor}"`;
      const look = `fill="${mark.fill}" opacity="${mark.opacity}" font-size="${mark.size}" font-weight="${mark.weight}"`;
      return `<text ${matrix} ${place} ${look}>${escaped(mark.text)}</text>`;
    }
    const fill = `fill="${mark.fill}" fill-opacity="${mark.fillOpacity}"`;
    const stroke = `stroke="${mark.stroke}" stroke-opacity="${mark.strokeOpacity}" stroke-width="${mark.strokeWidth}"`;
    return `<path ${matrix} d="${mark.d}" ${fill} ${stroke}/>`;
  });
  const size = `width="${width}" height="${height}" viewBox="0 0 ${width} ${height}"`;
  return [
    `<svg xmlns="http://www.w3.org/2000/svg" ${size} font-family="${font}">`,
    `<rect width="${width}" height="${height}" fill="${paper}"/>`,
    ...parts,
    "</svg>",
  ].join("\n");
}

/** Twice as many pixels as on the page, for print. */
export function toPng({ marks, width, height, paper }: Picture): Promise<Blob> {
  const density = 2;
  const canvas = document.createElement("canvas");
  canvas.width = width * density;
  canvas.height = height * density;
  const context = canvas.getContext("2d");
  if (!context) throw new Error("there is no canvas to draw on");
  context.scale(density, density);
  context.fillStyle = paper;
  context.fillRect(0, 0, width, height);
  context.imageSmoothingEnabled = false;
  for (const mark of marks) {
    context.save();
    draw(context, mark);
    context.restore();
  }
  return new Promise((resolve, reject) => {
    canvas.toBlob(
      (blob) => (blob ? resolve(blob) : reject(new Error("no PNG was made"))),
      "image/png",
    );
  });
}

function draw(context: CanvasRenderingContext2D, mark: Mark): void {
  if (mark.kind === "image") {
    context.drawImage(mark.canvas, mark.x, mark.y, mark.width, mark.height);
    return;
  }
  context.transform(...mark.matrix);
  if (mark.kind === "text") {
    context.font = `${mark.weight} ${mark.size}px ${font}`;
    context.textAlign = mark.anchor === "middle" ? "center" : mark.anchor;
    context.globalAlpha = mark.opacity;
    context.fillStyle = mark.fill;
    context.fillText(mark.text, mark.x, mark.y);
    return;
  }
  const path = new Path2D(mark.d);
  if (mark.fill !== "none") {
    context.globalAlpha = mark.fillOpacity;
    context.fillStyle = mark.fill;
    context.fill(path, "evenodd");
  }
  if (mark.stroke !== "none") {
    context.globalAlpha = mark.strokeOpacity;
    context.strokeStyle = mark.stroke;
    context.lineWidth = mark.strokeWidth;
    context.stroke(path);
  }
}

/** Lines of at most `width` pixels; Chinese breaks between any two characters. */
function wrap(text: string, width: number): string[] {
  const context = document.createElement("canvas").getContext("2d");
  if (!context) return [text];
  context.font = `${captionSize}px ${font}`;
  const words =
    text.match(/[\u3000-\u9fff\uff00-\uffef]|[^\s\u3000-\u9fff\uff00-\uffef]+|\s+/g) ?? [];
  const lines: string[] = [];
  let line = "";
  for (const word of words) {
    if (line !== "" && context.measureText(line + word).width > width) {
      lines.push(line.trimEnd());
      line = "";
    }
    line = line === "" ? word.trimStart() : line + word;
  }
  return [...lines, line];
}

function round(value: number): number {
  return Math.round(1000 * value) / 1000;
}

export function escaped(text: string): string {
  return text.replace(/[&<>"]/g, (letter) => `&#${letter.charCodeAt(0)};`);
}
