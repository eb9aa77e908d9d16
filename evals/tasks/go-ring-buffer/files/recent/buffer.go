// Package recent keeps the newest of many entries.
package recent

// Buffer keeps at most so many entries as it was made for.
type Buffer struct {
	entries []string
	next    int
	full    bool
}

// NewBuffer makes a buffer for size entries.
func NewBuffer(size int) *Buffer {
	return &Buffer{entries: make([]string, size)}
}

// Add keeps an entry, and drops the oldest one if the buffer is full.
func (b *Buffer) Add(entry string) {
	b.entries[b.next] = entry
	b.next++
	if b.next > len(b.entries)-1 {
		b.next = 0
		b.full = true
	}
}

// Entries returns the entries, the oldest first.
func (b *Buffer) Entries() []string {
	if !b.full {
		return b.entries[:b.next]
	}
	return b.entries
}
