package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/pronto-lab/openclawd/internal/wait"
)

// modelWords is the model's answer, sent in pieces, followed by words that no other answer has: agents that repeat
// themselves end their exchange.
var modelWords = strings.Fields("the log keeps what the team has done and nothing is lost of it")

// ownWords is the number of words that no other answer has.
const ownWords = 4

// model is an OpenAI-compatible server that always gives nearly the same answer.
type model struct {
	url     string
	time    atomic.Int64 // ns per answer
	answers atomic.Int64
	spent   atomic.Int64 // ns spent on requests since took was called
	mu      sync.Mutex
	barrier chan struct{} // that answers wait for; nil: none
}

// withModel calls do with a model in this process.
func withModel(ctx context.Context, do func(*model) error) error {
	m := &model{}
	address, stop, err := listen(ctx, m, noService)
	if err != nil {
		return err
	}
	m.url = "http://" + address + "/v1"
	err = do(m)
	m.release()
	return errors.Join(err, stop())
}

func (m *model) think(d time.Duration) { m.time.Store(int64(d)) }

// took returns how long the model was busy since the last call.
func (m *model) took() time.Duration { return time.Duration(m.spent.Swap(0)) }

// hold blocks answers until release.
func (m *model) hold() {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.barrier = make(chan struct{})
}

func (m *model) release() {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.barrier != nil {
		close(m.barrier)
		m.barrier = nil
	}
}

func (m *model) held() <-chan struct{} {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.barrier
}

// ServeHTTP answers POST /v1/chat/completions with a stream.
func (m *model) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	start := time.Now()
	defer func() { m.spent.Add(int64(time.Since(start))) }()
	if _, err := io.Copy(io.Discard, r.Body); err != nil {
		return
	}
	if held := m.held(); held != nil {
		select {
		case <-held:
		case <-r.Context().Done():
			return
		}
	}
	if d := time.Duration(m.time.Load()); d > 0 {
		if wait.For(r.Context(), d) != nil {
			return
		}
	}
	w.Header().Set("Content-Type", "text/event-stream")
	flush := http.NewResponseController(w).Flush
	said, number := slices.Clone(modelWords), m.answers.Add(1)
	for i := range ownWords {
		said = append(said, fmt.Sprintf("%d-%d", number, i))
	}
	for i, word := range said {
		if i > 0 {
			word = " " + word
		}
		fmt.Fprintf(w, `data: {"id":"c","object":"chat.completion.chunk","model":"words","choices":[{"index":0,"delta":{"role":"assistant","content":%q}}]}`+"\n\n", word)
		if flush() != nil {
			return
		}
	}
	fmt.Fprint(w, `data: {"id":"c","object":"chat.completion.chunk","model":"words","choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}`+"\n\n"+
		`data: {"id":"c","object":"chat.completion.chunk","model":"words","choices":[],"usage":{"prompt_tokens":100,"completion_tokens":14,"total_tokens":114}}`+"\n\n"+
		"data: [DONE]\n\n")
}
