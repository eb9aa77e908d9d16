package notes

import (
	"errors"
	"strings"
)

// Answer is what a client gets.
type Answer struct {
	Status int
	Body   string
}

const prefix = "/notes/"

// Get answers a request for the title of a note.
func Get(store Store, path string) Answer {
	id, ok := strings.CutPrefix(path, prefix)
	if !ok {
		return Answer{404, "not found"}
	}
	if id == "" {
		return Answer{400, "which note?"}
	}
	title, err := Title(store, id)
	if errors.Is(err, ErrMissing) {
		return Answer{404, "no such note"}
	}
	if err != nil {
		return Answer{500, "internal error"}
	}
	return Answer{200, title}
}
