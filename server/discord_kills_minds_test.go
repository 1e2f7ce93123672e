package server

import (
	"fmt"
	"hash/fnv"
	"math/rand/v2"
	"regexp"
	"strings"
	"time"

	"github.com/pronto-lab/openclawd/tools/a2atest"
)

// botMinds answer for the models of agents, and outlive the server that asks them. What they answer follows from the question alone, so who asks
// again has the same answer.
type botMinds struct{ seed uint64 }

// Words that minds and people use. Each matter has a name of its own: k1, k2, ...
var (
	askedToAsk = regexp.MustCompile(`ask (\w+) about (k\d+)( in (\w+))?`)
	askedOf    = regexp.MustCompile(`what of (k\d+)\?`)
	reminded   = "위 요청 확인 부탁해요"
	silence    = a2atest.Say("NO_REPLY")
)

// longText is more than one message of Discord takes.
func longText(about string) string { return about + strings.Repeat("\nand so on, and on, and on", 90) }

func (m botMinds) answer(a a2atest.Asked) a2atest.Answer {
	text := a.Message()
	h := fnv.New64a()
	_, _ = fmt.Fprint(h, a.Agent, text) // never fails
	roll := rand.New(rand.NewPCG(m.seed, h.Sum64()))
	takeTime(a.Context, roll, 30*time.Millisecond)
	asks, of := askedToAsk.FindStringSubmatch(text), askedOf.FindStringSubmatch(text)
	switch {
	case asks != nil && a.AfterTool():
		return a2atest.Say(a.Agent + " has asked about " + asks[2])
	case asks != nil:
		args := map[string]string{"targetAgent": asks[1], "message": "what of " + asks[2] + "?"}
		if asks[4] != "" {
			args["threadName"] = asks[4]
		}
		if roll.IntN(6) == 0 {
			args["message"] += strings.Repeat(" and", 495) // with whom it calls it is more than one message
		}
		return a2atest.Use(a2atest.Call{Name: "collaborate", ID: "ask_" + asks[2], Args: args})
	case of != nil:
		switch n := roll.IntN(10); {
		case n < 4:
			return silence
		case n == 4:
			return a2atest.Say(longText(a.Agent + " says a lot of " + of[1]))
		}
		return a2atest.Say(a.Agent + " says " + of[1] + " is fine")
	case strings.Contains(text, reminded):
		if roll := rand.New(rand.NewPCG(m.seed, uint64(len(a.Messages)))); roll.IntN(2) == 0 {
			return silence
		}
		return a2atest.Say(a.Agent + " sees to it")
	case strings.Contains(text, "note"):
		if roll.IntN(5) == 0 {
			return a2atest.Say(longText(a.Agent + " notes it: " + text))
		}
		return a2atest.Say(a.Agent + " notes it")
	case strings.Contains(text, "is fine") && roll.IntN(4) == 0:
		return a2atest.Say("thanks")
	}
	return silence
}
