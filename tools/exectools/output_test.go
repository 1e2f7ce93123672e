package exectools

import "testing"

func TestOutputIsRecordedInLines(t *testing.T) {
	t.Parallel()
	o := newOutput()
	for _, c := range []struct {
		written string
		ended   bool
		want    string
		from    int64
	}{
		{"one\ntok", false, "one\n", 0}, {"en=x", false, "", 4}, {"yz\nlast", false, "token=xyz\n", 4}, {"", true, "last", 14},
	} {
		_, _ = o.Write([]byte(c.written))
		if text, from, dropped := o.unrecorded(c.ended); text != c.want || from != c.from || dropped != 0 {
			t.Errorf("after %q: %q at %d, %d left out, want %q at %d", c.written, text, from, dropped, c.want, c.from)
		}
	}
}
