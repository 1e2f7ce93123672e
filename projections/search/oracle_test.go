package search_test

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"regexp"
	"slices"
	"strings"
	"testing"

	"golang.org/x/text/unicode/norm"

	"github.com/pronto-lab/openclawd/eventstore"
)

// The oracle finds by brute force what the package comment promises, by other means than the index: regular expressions and
// comparisons of strings, on every event.

type oraclePiece struct {
	text  string
	dense bool
}

var (
	oraclePieces = regexp.MustCompile(`[\p{Hangul}\p{Han}\p{Hiragana}\p{Katakana}ーｰ]+|(?:[\p{L}\p{N}]\p{M}*)+`)
	oracleDense  = regexp.MustCompile(`^[\p{Hangul}\p{Han}\p{Hiragana}\p{Katakana}ーｰ]`)
)

func piecesOf(text string) (list []oraclePiece) {
	text = norm.NFC.String(text)
	text = strings.NewReplacer("\u200b", "", "\u200d", "", "\ufe0f", "").Replace(text)
	// Where a word of letters runs into a run of Hangul, the expression for letters would swallow both.
	var parts []string
	start, dense := 0, false
	for i, r := range text {
		if now := oracleDense.MatchString(string(r)); now != dense {
			parts = append(parts, text[start:i])
			start, dense = i, now
		}
	}
	for _, part := range append(parts, text[start:]) {
		for _, found := range oraclePieces.FindAllString(part, -1) {
			found = strings.ToLower(norm.NFKC.String(found))
			if oracleDense.MatchString(found) {
				list = append(list, oraclePiece{found, true})
				continue
			}
			for chunk := range slices.Chunk([]rune(found), 64) {
				list = append(list, oraclePiece{string(chunk), false})
			}
		}
	}
	return list
}

// oracleQuery is a query as its author means it.
type oracleQuery struct{ wanted, barred []string }

func (q oracleQuery) String() string {
	var b strings.Builder
	quote := func(word string) string {
		if strings.Contains(word, " ") {
			return `"` + word + `"`
		}
		return word
	}
	for _, w := range q.wanted {
		b.WriteString(quote(w) + " ")
	}
	for _, w := range q.barred {
		b.WriteString("-" + quote(w) + " ")
	}
	return strings.TrimSpace(b.String())
}

// matcher says of the texts of an event whether the query matches it.
func (q oracleQuery) matcher() func(texts [][]oraclePiece) bool {
	taken := func(words []string) (list [][]oraclePiece) {
		for _, word := range words {
			list = append(list, piecesOf(word))
		}
		return list
	}
	wanted, barred := taken(q.wanted), taken(q.barred)
	return func(texts [][]oraclePiece) bool {
		holds := func(word []oraclePiece) bool {
			return slices.ContainsFunc(texts, func(text []oraclePiece) bool { return holdsWord(text, word) })
		}
		return !slices.ContainsFunc(wanted, func(w []oraclePiece) bool { return !holds(w) }) && !slices.ContainsFunc(barred, holds)
	}
}

func holdsWord(text, word []oraclePiece) bool {
	for i := 0; i+len(word) <= len(text); i++ {
		ok := true
		for j, w := range word {
			have, first, last := text[i+j], j == 0, j == len(word)-1
			switch {
			case have.dense != w.dense:
				ok = false
			case first && last && w.dense:
				ok = strings.Contains(have.text, w.text)
			case last:
				ok = strings.HasPrefix(have.text, w.text)
			case first && w.dense:
				ok = strings.HasSuffix(have.text, w.text)
			default:
				ok = have.text == w.text
			}
			if !ok {
				break
			}
		}
		if ok {
			return true
		}
	}
	return false
}

// oracleEvent is an event of the oracle's log, with what it can be filtered by.
type oracleEvent struct {
	texts   [][]oraclePiece
	typ     string
	session string
	from    string
	time    int64
}

// writer makes events as Korean teams write: nouns with particles and endings, names of files and tasks between them.
type writer struct{ *rand.Rand }

func newWriter(seed uint64) writer { return writer{rand.New(rand.NewPCG(seed, 7))} }

var (
	nouns = strings.Fields("리뷰 실패 배포 결제 서버 회귀 테스트 파이프라인 설계안 우선순위 원인 분석 결과 문서 약관 법무 검토 고객 문의 답변 코드리뷰 재시도 인프라 알림 " +
		"기준 로그 장애 복구 검색 색인 한글 조사 봄 값 표 會議 資料 テスト")
	particles = []string{"", "", "를", "을", "이", "가", "는", "은", "에서", "으로", "로", "까지", "만", "도", "의", "했습니다", "했어요", "합니다", "되었습니다",
		"하겠습니다", "해주세요", "이라고"}
	latins = strings.Fields("API deploy deployment Deploy redeploy retry main.go cmd/openclawd/search.go task_ab12 ws_fx_cat_01 agent:eden:main v2 2026-02-20 " +
		"https://git.example/pr/42 README.md config.yaml FTS5 e2e NULL 99.9% user@example.org 한글2024 v2배포 배포v2 배포v2를2 ＡＰＩ２ ｄｅｐｌｏｙ ㅋㅋㅋ ㅎ 1️⃣ " +
		"👩‍💻배포 리뷰👍🏽완료 feature/결제-2 résumé Straße a__b --force x.y.z a:b:c-d_e.f 제2차배포v2_final")
	marks  = []string{" ", " ", " ", " ", ", ", ". ", "\n", " — ", " 👍 ", "(", ") ", "·", "/"}
	team   = strings.Fields("eden ruda seum Miri")
	kinds  = strings.Fields("a2a.send a2a.response a2a.complete task.started task.blocked")
	fields = strings.Fields("message message message replyPreview title label description summary reason")
)

func pick[T any](w writer, list []T) T { return list[w.IntN(len(list))] }

func (w writer) word() string {
	switch w.IntN(7) {
	case 6:
		return pick(w, nouns) + pick(w, latins)
	case 0:
		return pick(w, latins)
	case 1:
		return pick(w, latins) + pick(w, particles)
	case 2:
		return pick(w, nouns) + pick(w, nouns) + pick(w, particles)
	}
	return pick(w, nouns) + pick(w, particles)
}

func (w writer) sentence() string {
	var b strings.Builder
	for range 1 + w.IntN(8) {
		b.WriteString(w.word() + pick(w, marks))
	}
	if w.IntN(8) == 0 {
		return norm.NFD.String(b.String())
	}
	return b.String()
}

// event writes one event, for the log and for the oracle.
func (w writer) event(t testing.TB) (eventstore.NewEvent, oracleEvent) {
	t.Helper()
	o := oracleEvent{typ: pick(w, kinds), session: fmt.Sprintf("ws_%d", w.IntN(12)), from: pick(w, team), time: epoch + int64(w.IntN(1_000_000))}
	data := map[string]any{"workSessionId": o.session, "fromAgent": o.from, "toAgent": "onsae", "conversationId": fmt.Sprintf("c-%x", w.IntN(4096))}
	for range 1 + w.IntN(2) {
		data[pick(w, fields)] = w.sentence()
	}
	for _, field := range []string{"message", "replyPreview", "title", "label", "description", "summary", "reason", "workSessionId", "fromAgent",
		"toAgent", "conversationId"} {
		if text, ok := data[field].(string); ok {
			o.texts = append(o.texts, piecesOf(text))
		}
	}
	o.texts = append(o.texts, piecesOf(o.typ))
	body, err := json.Marshal(data)
	if err != nil {
		t.Fatal(err)
	}
	return eventstore.NewEvent{Type: o.typ, AgentID: o.from, TS: o.time, Data: body}, o
}

// query writes a query: words as they stand in events, parts of them, phrases, words that are nowhere.
func (w writer) query() (q oracleQuery) {
	for range 1 + w.IntN(3) {
		q.wanted = append(q.wanted, w.asked())
	}
	if w.IntN(5) == 0 {
		q.barred = append(q.barred, w.asked())
	}
	return q
}

func (w writer) asked() string {
	word := w.word()
	switch runes := []rune(word); w.IntN(8) {
	case 0, 1, 2:
		return pick(w, nouns)
	case 3, 4:
		from := w.IntN(len(runes))
		word = string(runes[from : from+1+w.IntN(len(runes)-from)])
	case 5:
		word = pick(w, nouns) + pick(w, particles) + " " + pick(w, nouns)
	case 6:
		word = string(runes[:1+w.IntN(len(runes))])
	}
	if word = strings.TrimLeft(word, "-"); len(piecesOf(word)) == 0 {
		return pick(w, nouns)
	}
	return word
}
