package recent

import (
	"reflect"
	"testing"
)

func fill(size int, entries ...string) *Buffer {
	b := NewBuffer(size)
	for _, entry := range entries {
		b.Add(entry)
	}
	return b
}

func TestTheOldestComesFirst(t *testing.T) {
	cases := []struct {
		entries []string
		want    []string
	}{
		{nil, []string{}},
		{[]string{"a", "b"}, []string{"a", "b"}},
		{[]string{"a", "b", "c"}, []string{"a", "b", "c"}},
		{[]string{"a", "b", "c", "d"}, []string{"b", "c", "d"}},
		{[]string{"a", "b", "c", "d", "e", "f", "g"}, []string{"e", "f", "g"}},
	}
	for _, one := range cases {
		if got := fill(3, one.entries...).Entries(); !reflect.DeepEqual(got, one.want) {
			t.Errorf("after %v: %v, want %v", one.entries, got, one.want)
		}
	}
}

func TestWhatWasGivenDoesNotChange(t *testing.T) {
	b := fill(2, "a")
	before := b.Entries()
	b.Add("b")
	b.Add("c")
	if !reflect.DeepEqual(before, []string{"a"}) {
		t.Errorf("the entries became %v", before)
	}
}

func TestABufferForNothingKeepsNothing(t *testing.T) {
	if got := fill(0, "a", "b").Entries(); len(got) != 0 {
		t.Errorf("got %v", got)
	}
}

func TestALogKeepsItsLastLines(t *testing.T) {
	l := NewLog(2)
	for _, part := range []string{"one\ntw", "o\n", "three\nfour"} {
		if _, err := l.Write([]byte(part)); err != nil {
			t.Fatal(err)
		}
	}
	if got := l.String(); got != "two\nthree" {
		t.Errorf("got %q", got)
	}
}
