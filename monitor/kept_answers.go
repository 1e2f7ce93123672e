package monitor

import (
	"encoding/json"
	"sync"

	"github.com/labstack/echo/v4"

	"github.com/pronto-lab/openclawd/eventstore"
)

// Limits of what a server keeps of its answers, in bytes.
const (
	keptAnswersBytes = 8 << 20
	keptAnswerBytes  = 2 << 20 // of one
)

// keptAnswers are encoded answers that were made since the last commit. The next commit removes them all: nothing is
// answered from here that the log or its tables do not say at that moment. What else they may depend on, time and the
// names that bots know, decides whether and how long one is kept.
type keptAnswers struct {
	mu      sync.Mutex
	commits uint64 // the state that all of them reflect
	answers map[string]*keptAnswer
	bytes   int
}

type keptAnswer struct {
	text        json.RawMessage
	asOf        int64
	from, until float64 // times between which it is right, in ms since 1970
}

// requestKey names what a request asks for.
func requestKey(c echo.Context) string {
	u := c.Request().URL
	return u.EscapedPath() + "?" + u.RawQuery
}

// get returns the kept answer for the state that mark names; nil if there is none.
func (k *keptAnswers) get(key string, mark eventstore.Mark, now float64) *keptAnswer {
	if !mark.Settled() {
		return nil
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	a := k.answers[key]
	if a == nil || k.commits != mark.Commits || now < a.from || now > a.until {
		return nil
	}
	return a
}

// put keeps an answer. Answers of earlier states are dropped, and if there is no room any others.
func (k *keptAnswers) put(key string, mark eventstore.Mark, a *keptAnswer) {
	const overhead = 256
	size := len(key) + len(a.text) + overhead
	if size > keptAnswerBytes {
		return
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	switch {
	case mark.Commits < k.commits:
		return
	case mark.Commits > k.commits || k.answers == nil:
		k.answers, k.bytes, k.commits = map[string]*keptAnswer{}, 0, mark.Commits
	}
	if old := k.answers[key]; old != nil {
		k.bytes -= len(key) + len(old.text) + overhead
		delete(k.answers, key)
	}
	for other, old := range k.answers {
		if k.bytes+size <= keptAnswersBytes {
			break
		}
		k.bytes -= len(other) + len(old.text) + overhead
		delete(k.answers, other)
	}
	k.answers[key] = a
	k.bytes += size
}
