// Files and folders dropped on the page.

/** Calls back with every file of what is dropped anywhere on the document, folders opened. */
export function acceptDrops(root: Document, onFiles: (files: readonly File[]) => void): void {
  root.addEventListener("dragover", (event) => {
    if (event.dataTransfer?.types.includes("Files")) event.preventDefault();
  });
  root.addEventListener("drop", (event) => {
    const { dataTransfer } = event;
    if (!dataTransfer?.types.includes("Files")) return;
    event.preventDefault();
    // Entries must be taken before the event ends.
    const entries = [...dataTransfer.items].map((item) => item.webkitGetAsEntry());
    const plain = [...dataTransfer.files];
    void Promise.all(entries.map((entry) => (entry ? filesOf(entry) : [])))
      .then((found) => found.flat())
      .then((files) => onFiles(files.length > 0 ? files : plain))
      .catch(() => onFiles(plain));
  });
}

async function filesOf(entry: FileSystemEntry): Promise<File[]> {
  if (entry.isFile) {
    return [await new Promise<File>((...done) => (entry as FileSystemFileEntry).file(...done))];
  }
  const reader = (entry as FileSystemDirectoryEntry).createReader();
  const files: File[] = [];
  // A reader gives a folder's entries a hundred at a time, and an empty list at the end.
  for (;;) {
    const some = await new Promise<FileSystemEntry[]>((...done) => reader.readEntries(...done));
    if (some.length === 0) return files;
    for (const child of some) files.push(...(await filesOf(child)));
  }
}
