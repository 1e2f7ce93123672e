package samplemcp

import (
	"errors"
	"fmt"
	"strings"
	"sync"
)

// Bounds of the handbook.
const (
	maxPages = 100
	maxTitle = 100   // characters
	maxText  = 4_000 // characters
	maxFound = 5     // pages
)

// page is a page of the handbook.
type page struct{ title, text string }

// handbook is a set of pages. It is safe for concurrent use.
type handbook struct {
	mu    sync.Mutex
	pages []page
}

func newHandbook() *handbook {
	return &handbook{pages: []page{
		{"보고서 쓰는 법", "보고서는 세 문장으로 씁니다. 첫 문장은 결론, 둘째 문장은 근거가 되는 수치, 셋째 문장은 다음에 할 일입니다."},
		{"배포 시간", "배포는 화요일과 목요일 오후 두 시에 합니다. 금요일에는 하지 않습니다."},
		{"장애 알림", "오류율이 1%를 넘으면 당번에게 알리고, 10분 안에 상황을 적습니다."},
	}}
}

// search returns the pages that contain any word of a query, those with most of them first.
func (h *handbook) search(query string) string {
	words := strings.Fields(strings.ToLower(query))
	h.mu.Lock()
	defer h.mu.Unlock()
	var found []string
	for hits := len(words); hits > 0 && len(found) < maxFound; hits-- {
		for _, p := range h.pages {
			if countIn(strings.ToLower(p.title+" "+p.text), words) == hits && len(found) < maxFound {
				found = append(found, "# "+p.title+"\n"+p.text)
			}
		}
	}
	if len(found) == 0 {
		return fmt.Sprintf("안내서에 %q에 대한 쪽이 없습니다.", query)
	}
	return strings.Join(found, "\n\n")
}

func countIn(text string, words []string) (n int) {
	for _, word := range words {
		if strings.Contains(text, word) {
			n++
		}
	}
	return n
}

// publish adds a page, or replaces the one with its title.
func (h *handbook) publish(title, text string) (string, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for i := range h.pages {
		if h.pages[i].title == title {
			h.pages[i].text = text
			return fmt.Sprintf("안내서의 %q 쪽을 바꾸었습니다.", title), nil
		}
	}
	if len(h.pages) == maxPages {
		return "", errors.New("the handbook is full: replace a page by giving its title")
	}
	h.pages = append(h.pages, page{title, text})
	return fmt.Sprintf("안내서에 %q 쪽을 올렸습니다.", title), nil
}
