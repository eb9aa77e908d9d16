package notes

import (
	"errors"
	"strings"
	"testing"
)

type broken struct{}

func (broken) Find(string) (string, error) {
	return "", errors.New("disk at /var/secret is gone")
}

func TestAnswers(t *testing.T) {
	store := Memory{"a": "Shopping\nmilk", "b": ""}
	cases := []struct {
		path string
		want Answer
	}{
		{"/notes/a", Answer{200, "Shopping"}},
		{"/notes/b", Answer{200, ""}},
		{"/notes/unknown", Answer{404, "no such note"}},
		{"/notes/", Answer{400, "which note?"}},
		{"/other", Answer{404, "not found"}},
	}
	for _, one := range cases {
		if got := Get(store, one.path); got != one.want {
			t.Errorf("%s: %v, want %v", one.path, got, one.want)
		}
	}
}

func TestTheCauseIsKept(t *testing.T) {
	_, err := Title(Memory{}, "x")
	if !errors.Is(err, ErrMissing) {
		t.Errorf("%v is not ErrMissing", err)
	}
	if err == nil || !strings.Contains(err.Error(), `"x"`) {
		t.Errorf("%v does not name the note", err)
	}
}

func TestOtherErrorsSayNothing(t *testing.T) {
	if got := Get(broken{}, "/notes/a"); got != (Answer{500, "internal error"}) {
		t.Errorf("got %v", got)
	}
}
