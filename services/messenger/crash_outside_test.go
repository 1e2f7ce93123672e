package messenger_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"hash/fnv"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/pronto-lab/openclawd/services/messenger"
	"github.com/pronto-lab/openclawd/tools/a2atest"
)

// outside is what a process that is killed has around it, and what outlives it: models, and a channel in which people read.
type outside struct {
	models *a2atest.Model
	posts  *httptest.Server

	mu    sync.Mutex
	calls map[string][]modelCall // by idempotency key
	said  map[string][]said      // posts, by key
}

// modelCall is what a model was asked.
type modelCall struct{ agent, message string }

// said is what came to the channel.
type said struct {
	post messenger.Post
	ok   bool // it is there, and its poster was told so if it was still there
}

func newOutside(t testing.TB) *outside {
	t.Helper()
	o := &outside{calls: map[string][]modelCall{}, said: map[string][]said{}}
	o.models = a2atest.NewModel(t, o.answer)
	o.posts = httptest.NewServer(http.HandlerFunc(o.post))
	t.Cleanup(o.posts.Close)
	return o
}

// places is where a process finds the outside.
type places struct{ Models, Posts string }

const placesFile = "places.json"

// tell writes down where the outside is.
func (o *outside) tell(t testing.TB, dir string) {
	t.Helper()
	text, err := json.Marshal(places{o.models.URL, o.posts.URL})
	if err == nil {
		err = os.WriteFile(filepath.Join(dir, placesFile), text, 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
}

func readPlaces(dir string) (p places, err error) {
	text, err := os.ReadFile(filepath.Join(dir, placesFile))
	if err == nil {
		err = json.Unmarshal(text, &p)
	}
	return p, err
}

// What an ask is for is told by its name, which stands in all that is said because of it: the sort and the number. In a message of ping-pong
// the word point stands once more than in the one that it answers.
const (
	sortTalk  = "talk"  // ping-pong of two turns, and what came of it is announced
	sortNote  = "note"  // one answer, announced
	sortBusy  = "busy"  // the first two attempts are refused: too many requests
	sortWrong = "wrong" // the model refuses the request for good
	sortChild = "child" // a sub-agent
	sortTell  = "tell"  // a person asks an agent, who asks another one and waits, and starts a sub-agent
)

var askName = regexp.MustCompile(`\b(?:talk|note|busy|wrong|child|tell)-\d+\b`)

const pointWord = "point"

func sortOf(name string) string { return name[:max(strings.IndexByte(name, '-'), 0)] }

// announceText is the message of the run that says what is announced.
const announceText = "Agent-to-agent announce step."

// answer answers for all models. What it says follows from what it is asked.
func (o *outside) answer(a a2atest.Asked) a2atest.Answer {
	message := a.Message()
	o.mu.Lock()
	o.calls[a.Key] = append(o.calls[a.Key], modelCall{a.Agent, message})
	o.mu.Unlock()
	hold(a.Context, 30*time.Millisecond)
	root, _, _ := strings.Cut(a.Key, ":")
	_, part, _ := strings.Cut(root, ".")
	name := askName.FindString(message)
	switch {
	case message == announceText:
		return a2atest.Say("it is done: " + askName.FindString(a.System))
	case strings.HasPrefix(message, "A subagent has finished"):
		return a2atest.Say("NO_REPLY")
	case a.AfterTool():
		return a2atest.Say("what I have asked for is under way: " + name)
	case root == name: // of a person
		return a2atest.Use(
			a2atest.Call{ID: name + "-1", Name: "sessions_send", Args: map[string]any{
				"agentId": "miri", "message": name + " wants to know the time", "timeoutSeconds": 20, "replyBack": false, "announceStep": false}},
			a2atest.Call{ID: name + "-2", Name: "sessions_spawn", Args: map[string]any{"task": "do what " + name + " is about"}})
	case sortOf(name) == sortBusy && part != "r3":
		return a2atest.Answer{Status: http.StatusTooManyRequests, RetryAfter: "3600"} // so long that the run does not wait for it
	case sortOf(name) == sortWrong:
		return a2atest.Fail(http.StatusBadRequest)
	}
	n := strings.Count(message, pointWord)
	words := []string{name, strings.Repeat(pointWord+" ", n+1)}
	for i := range 12 {
		words = append(words, fmt.Sprintf("%s-says-%d-%d", a.Agent, n, i))
	}
	return a2atest.Say(strings.Join(words, " "))
}

// hold waits for some time up to most, or until the caller leaves.
func hold(ctx context.Context, most time.Duration) {
	timer := time.NewTimer(rand.N(most))
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-ctx.Done():
	}
}

// post takes what is posted, some of it only when it is posted again.
func (o *outside) post(w http.ResponseWriter, r *http.Request) {
	var p messenger.Post
	if err := json.NewDecoder(r.Body).Decode(&p); err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	hold(r.Context(), 20*time.Millisecond)
	o.mu.Lock()
	ok := !failsFirst(p.Key) || len(o.said[p.Key]) > 0
	o.said[p.Key] = append(o.said[p.Key], said{p, ok})
	o.mu.Unlock()
	hold(r.Context(), 20*time.Millisecond)
	if !ok {
		http.Error(w, "not now", http.StatusServiceUnavailable)
	}
}

// failsFirst picks a quarter of all keys.
func failsFirst(key string) bool {
	h := fnv.New32a()
	_, _ = h.Write([]byte(key)) // it takes everything
	return h.Sum32()%4 == 0
}

// wire posts to the outside.
type wire struct {
	url    string
	client *http.Client
}

func (wire) Account(p messenger.Post) string { return p.AccountID }
func (wire) Reaches(channel string) bool     { return channel == "discord" }

var errNotPosted = errors.New("not posted")

func (w wire) Post(ctx context.Context, p messenger.Post) error {
	text, err := json.Marshal(p)
	if err != nil {
		return err
	}
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, w.url, bytes.NewReader(text))
	if err != nil {
		return err
	}
	response, err := w.client.Do(request)
	if err != nil {
		return err
	}
	if response.StatusCode != http.StatusOK {
		err = fmt.Errorf("%w: %s", errNotPosted, response.Status)
	}
	return errors.Join(err, response.Body.Close())
}
