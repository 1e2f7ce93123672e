package chain

import (
	"errors"
	"slices"
	"testing"
	"time"
)

// passedOn is when things were passed on, in ms since 1970, the newest first.
func passedOn(at ...int64) Nth {
	return func(n int) (int64, error) {
		if n > len(at) {
			return 0, nil
		}
		return at[n-1], nil
	}
}

// A chain is bounded by its length, by what a pair passes on, and by all that it passes on within the window and within a day. What is older than
// that counts no more.
func TestJudge(t *testing.T) {
	t.Parallel()
	limits := Limits{Hops: 3, Pair: 2, Cause: 4, CauseDay: 6, Window: 10 * time.Minute}
	now := int64(100 * time.Hour / time.Millisecond)
	ago := func(d time.Duration) int64 { return now - d.Milliseconds() }
	within := ago(time.Minute)
	earlier := ago(time.Hour)
	yesterday := ago(25 * time.Hour)
	for name, tt := range map[string]struct {
		hop, ahead   int
		all, between []int64
		want         string
	}{
		"the first":                       {1, 0, nil, nil, ""},
		"as far as it may":                {3, 0, nil, nil, ""},
		"one too far":                     {4, 0, nil, nil, CodeHops},
		"as often as it may":              {1, 0, []int64{within, within, within}, nil, ""},
		"once too often":                  {1, 0, []int64{within, within, within, within}, nil, CodeCause},
		"with those ahead of it":          {1, 2, []int64{within, within}, nil, CodeCause},
		"more ahead of it than may be":    {1, 9, nil, nil, CodeCause},
		"the window is over":              {1, 0, slices.Repeat([]int64{earlier}, 5), nil, ""},
		"as often as it may in a day":     {1, 0, slices.Repeat([]int64{earlier}, 6), nil, CodeCause},
		"the day is over":                 {1, 0, slices.Repeat([]int64{yesterday}, 6), nil, ""},
		"a pair, as often as it may":      {1, 0, []int64{within}, []int64{within}, ""},
		"a pair, once too often":          {1, 0, []int64{within, within}, []int64{within, within}, CodePair},
		"a pair, the window is over":      {1, 0, []int64{earlier, earlier}, []int64{earlier, earlier}, ""},
		"exactly as long ago as it lasts": {1, 0, slices.Repeat([]int64{ago(10 * time.Minute)}, 4), nil, ""},
	} {
		why, err := limits.Judge(&Pass{Link: Link{Root: "r", Hop: tt.hop}, From: "eden", To: "seum", Ahead: tt.ahead, Now: now,
			NthAt: passedOn(tt.all...), Between: passedOn(tt.between...)})
		code := ""
		if why != nil {
			code = why.Reason
		}
		if code != tt.want || err != nil || why != nil && !IsCode(code) {
			t.Errorf("%s: %q, %v; want %q", name, code, err, tt.want)
		}
	}
	broken := errors.New("broken")
	if _, err := limits.Judge(&Pass{NthAt: func(int) (int64, error) { return 0, broken }}); !errors.Is(err, broken) {
		t.Errorf("what cannot be counted: %v", err)
	}
}

// A prompt that comes after a rest counts its hops from the start, in the same chain.
func TestRested(t *testing.T) {
	t.Parallel()
	at := Link{Root: "r", Hop: 7}
	if got := at.Rested(Rest - 1); got != at {
		t.Errorf("too soon: %+v", got)
	}
	if got := at.Rested(Rest); got != (Link{Root: "r"}) {
		t.Errorf("after a rest: %+v", got)
	}
	if got := at.Next(); got != (Link{Root: "r", Hop: 8}) {
		t.Errorf("the next one: %+v", got)
	}
	if Pair("seum", "eden") != Pair("eden", "seum") {
		t.Error("a pair has two names")
	}
}
