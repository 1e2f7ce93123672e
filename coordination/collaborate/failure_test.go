package collaborate_test

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/pronto-lab/openclawd/coordination/collaborate"
)

func TestClassify(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		failure collaborate.Failure
		want    collaborate.Class
	}{
		{collaborate.Failure{Status: 400, Code: 50035}, collaborate.ClassRejected},
		{collaborate.Failure{Status: 401}, collaborate.ClassUnauthorized},
		{collaborate.Failure{Status: 403, Code: 50013}, collaborate.ClassForbidden},
		{collaborate.Failure{Status: 404}, collaborate.ClassNotFound},
		{collaborate.Failure{Status: 400, Code: 50083}, collaborate.ClassNotFound},
		{collaborate.Failure{Status: 403, Code: 10003}, collaborate.ClassNotFound},
		{collaborate.Failure{Status: 400, Code: 160005}, collaborate.ClassForbidden},
		{collaborate.Failure{Status: 429}, collaborate.ClassRateLimited},
		{collaborate.Failure{Status: 500}, collaborate.ClassUnavailable},
		{collaborate.Failure{Status: 503, TimedOut: true}, collaborate.ClassUnavailable},
		{collaborate.Failure{TimedOut: true}, collaborate.ClassTimeout},
		{collaborate.Failure{Unsent: true}, collaborate.ClassUnsent},
		{collaborate.Failure{}, collaborate.ClassLost},
	} {
		equal(t, "the class", collaborate.Classify(tt.failure), tt.want)
	}
}

func TestAfterFailures(t *testing.T) {
	t.Parallel()
	again := func(wait time.Duration, look bool) collaborate.Next {
		return collaborate.Next{Retry: true, Wait: wait, Look: look}
	}
	for _, tt := range []struct {
		name    string
		failure collaborate.Failure
		message []collaborate.Next // after the 1st, 2nd, ... failure to post
		thread  []collaborate.Next // likewise, to open a thread
	}{
		{"403", collaborate.Failure{Status: 403}, []collaborate.Next{{Code: "permission_denied", Escalate: true}}, nil},
		{"404", collaborate.Failure{Status: 404}, []collaborate.Next{{Code: "not_found", Escalate: true, Forget: true}}, nil},
		{"401", collaborate.Failure{Status: 401}, []collaborate.Next{{Code: "unauthorized", Escalate: true}}, nil},
		{"400", collaborate.Failure{Status: 400}, []collaborate.Next{{Code: "rejected", Escalate: true}}, nil},
		{"429", collaborate.Failure{Status: 429, RetryAfter: 2500 * time.Millisecond}, []collaborate.Next{again(2500*time.Millisecond, false),
			again(2500*time.Millisecond, false), again(2500*time.Millisecond, false), again(2500*time.Millisecond, false), again(2500*time.Millisecond, false),
			{Code: "rate_limited"}}, nil},
		{"429 that does not say how long", collaborate.Failure{Status: 429}, []collaborate.Next{again(time.Second, false)}, nil},
		{"429 that says too long", collaborate.Failure{Status: 429, RetryAfter: time.Hour}, []collaborate.Next{{Code: "rate_limited"}}, nil},
		{"503", collaborate.Failure{Status: 503}, []collaborate.Next{again(time.Second, false), again(2*time.Second, false), again(4*time.Second, false),
			{Look: true, Code: "unavailable", Escalate: true}}, []collaborate.Next{again(time.Second, true), again(2*time.Second, true), again(4*time.Second, true),
			{Look: true, Code: "unavailable", Escalate: true}}},
		{"no connection", collaborate.Failure{Unsent: true}, []collaborate.Next{again(time.Second, false), again(2*time.Second, false), again(4*time.Second, false),
			{Code: "unavailable", Escalate: true}}, nil},
		{"no answer", collaborate.Failure{TimedOut: true}, []collaborate.Next{again(0, false), again(0, false), again(0, false),
			{Look: true, Code: "timeout", Escalate: true}}, []collaborate.Next{again(0, true), again(0, true), again(0, true),
			{Look: true, Code: "timeout", Escalate: true}}},
		{"lost", collaborate.Failure{}, []collaborate.Next{again(0, true), {Look: true, Code: "unavailable", Escalate: true}}, nil},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			if tt.thread == nil {
				tt.thread = tt.message
			}
			for deed, steps := range map[collaborate.Operation][]collaborate.Next{collaborate.PostMessage: tt.message, collaborate.OpenThread: tt.thread} {
				for i, want := range steps {
					got := collaborate.After(collaborate.Attempt{Deed: deed, Route: collaborate.RouteNew, Failure: tt.failure, Failures: i + 1})
					if diff := cmp.Diff(want, got); diff != "" {
						t.Errorf("%s, failure %d (-want +got):\n%s", deed, i+1, diff)
					}
				}
			}
		})
	}
	if diff := cmp.Diff(collaborate.Next{Code: "delivery_unknown", Unknown: true, Escalate: true}, collaborate.Blind()); diff != "" {
		t.Error(diff)
	}
	for _, route := range []collaborate.Route{collaborate.RouteNamed, collaborate.RouteShared} {
		if n := collaborate.After(collaborate.Attempt{Deed: collaborate.PostMessage, Route: route, Failure: collaborate.Failure{Status: 404}, Failures: 1}); n.Redecide {
			t.Errorf("%s: %+v, want it given up", route, n)
		}
	}
}

func TestEveryClassHasARule(t *testing.T) {
	t.Parallel()
	seen := map[collaborate.Class]bool{}
	for _, r := range collaborate.Rules() {
		if seen[r.Class] || r.Code == "" {
			t.Errorf("%+v, want one rule with a code", r)
		}
		seen[r.Class] = true
	}
	for status := range 600 {
		if c := collaborate.Classify(collaborate.Failure{Status: status}); !seen[c] {
			t.Errorf("status %d is of class %s, which has no rule", status, c)
		}
	}
}
