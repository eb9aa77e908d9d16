package recent

import "strings"

// Log keeps the last lines that were written to it.
type Log struct {
	buffer *Buffer
	rest   string
}

// NewLog makes a log of so many lines.
func NewLog(lines int) *Log {
	return &Log{buffer: NewBuffer(lines)}
}

// Write takes text in pieces; a line counts when it has ended.
func (l *Log) Write(data []byte) (int, error) {
	parts := strings.Split(l.rest+string(data), "\n")
	for _, line := range parts[:len(parts)-1] {
		l.buffer.Add(line)
	}
	l.rest = parts[len(parts)-1]
	return len(data), nil
}

// String returns the lines.
func (l *Log) String() string {
	return strings.Join(l.buffer.Entries(), "\n")
}
