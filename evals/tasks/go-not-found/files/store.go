package notes

import "errors"

// ErrMissing says that there is no such note.
var ErrMissing = errors.New("no such note")

// Store finds notes by their id.
type Store interface {
	Find(id string) (string, error)
}

// Memory is a store in memory.
type Memory map[string]string

// Find returns the text of a note, or ErrMissing.
func (m Memory) Find(id string) (string, error) {
	text, ok := m[id]
	if !ok {
		return "", ErrMissing
	}
	return text, nil
}
