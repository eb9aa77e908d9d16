package notes

import (
	"fmt"
	"strings"
)

// Title returns the first line of a note.
func Title(store Store, id string) (string, error) {
	text, err := store.Find(id)
	if err != nil {
		return "", fmt.Errorf("title of %q: %w", id, err)
	}
	title, _, _ := strings.Cut(text, "\n")
	return title, nil
}
