package client

import (
	"strings"
	"testing"
)

func TestDescribe(t *testing.T) {
	cases := map[string]string{
		"":                              "localhost:8080 within 10s",
		"timeout = 30":                  "localhost:8080 within 30s",
		"timeout = 500ms":               "localhost:8080 within 500ms",
		"# slow\ntimeout=1m30s\n":       "localhost:8080 within 1m30s",
		"address = a:1\ntimeout = 0.5s": "a:1 within 500ms",
	}
	for text, want := range cases {
		got, err := Describe(text)
		if err != nil || got != want {
			t.Errorf("%q: %q, %v, want %q", text, got, err, want)
		}
	}
}

func TestWhatIsNoTimeout(t *testing.T) {
	for _, value := range []string{"0", "-5", "-1s", "0ms", "soon", "", "5 parsecs"} {
		_, err := Describe("address = a:1\ntimeout = " + value)
		if err == nil {
			t.Errorf("%q is accepted", value)
		} else if !strings.Contains(err.Error(), "line 2") || !strings.Contains(err.Error(), "timeout") {
			t.Errorf("%q: %v names neither line nor setting", value, err)
		}
	}
}

func TestOtherMistakes(t *testing.T) {
	for _, text := range []string{"timeout", "color = red"} {
		if _, err := Describe(text); err == nil || !strings.Contains(err.Error(), "line 1") {
			t.Errorf("%q: %v", text, err)
		}
	}
}
