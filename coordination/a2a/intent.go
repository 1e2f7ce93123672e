package a2a

import (
	"regexp"
	"strings"
	"unicode"

	"github.com/pronto-lab/openclawd/coordination/handoff"
)

// Intent classifies the purpose of a message.
type Intent struct {
	Name       string  // delegate, report, ask, respond of a payload; notification, escalation, request, result_report, question, collaboration
	Turns      int     // turns of ping-pong that it needs; -1 is as many as are configured
	Confidence float64 // 0 to 1
}

// Intents of messages that need no answer.
const (
	intentNotification = "notification"
	intentRespond      = "respond"
)

// readForIntent bounds the bytes read at each end of a message.
const readForIntent = 8 << 10

// IntentOf classifies a message. A payload decides; otherwise its words: tags first, and a request before everything
// that a request may mention. A word in Latin letters must match as a whole. Of a long message both ends are read.
func IntentOf(message string, p *handoff.Payload) Intent {
	if p != nil {
		return intentOfPayload(p.Type)
	}
	if len(message) > 2*readForIntent {
		message = message[:readForIntent] + "\n" + message[len(message)-readForIntent:]
	}
	text := strings.ToLower(message)
	sentences := sentencesOf(text)
	switch {
	case hasAny(text, "[no_reply_needed]", "[notification]"):
		return Intent{intentNotification, 0, 1}
	case hasAny(text, "[urgent]", "[escalation]"):
		return Intent{"escalation", 0, 1}
	case hasAny(text, "[outcome]", "[result]"):
		return Intent{"result_report", 1, 0.8}
	case anyOf(sentences, (*sentence).requests):
		return Intent{"request", 3, 0.75}
	case hasAny(text, "전달합니다", "공유합니다", "전달드립니다", "공유드립니다", "알려드립니다", "알림:") && !asks(sentences):
		return Intent{intentNotification, 0, 1}
	case anyOf(sentences, (*sentence).reports):
		return Intent{"result_report", 1, 0.8}
	case anyOf(sentences, (*sentence).consults):
		return Intent{"collaboration", -1, 0.8}
	case asks(sentences):
		return Intent{"question", 1, 0.7}
	}
	return Intent{"collaboration", -1, 0.5}
}

func intentOfPayload(t handoff.Type) Intent {
	switch t {
	case handoff.TaskDelegation:
		return Intent{"delegate", -1, 1}
	case handoff.StatusReport:
		return Intent{"report", 1, 1}
	case handoff.Question:
		return Intent{"ask", 1, 1}
	}
	return Intent{intentRespond, 0, 1}
}

// Within is how many turns a flow may take: what its intent needs, within the configured maximum. none means that its
// sender wants no answer.
func (i Intent) Within(configured int, none bool) int {
	switch {
	case none:
		return 0
	case i.Turns < 0:
		return max(configured, 0)
	}
	return max(min(i.Turns, configured), 0)
}

// sentence is a sentence of a message, in lower case and without its final punctuation.
type sentence struct {
	text     string
	question bool // it ends with a question mark
}

// sentenceEnd finds the end of a sentence. A full stop inside a number or a name does not count.
var sentenceEnd = regexp.MustCompile(`[.!?]+["')\]]*(?:\s+|$)|[。！？]+\s*|\n+`)

func sentencesOf(text string) (all []sentence) {
	add := func(body, end string) {
		if strings.ContainsFunc(body, func(r rune) bool { return unicode.IsLetter(r) || unicode.IsDigit(r) }) {
			all = append(all, sentence{strings.TrimSpace(body), strings.ContainsAny(end, "?？")})
		}
	}
	from := 0
	for _, at := range sentenceEnd.FindAllStringIndex(text, -1) {
		add(text[from:at[0]], text[at[0]:at[1]])
		from = at[1]
	}
	add(text[from:], "")
	return all
}

func anyOf(sentences []sentence, is func(*sentence) bool) bool {
	for i := range sentences {
		if is(&sentences[i]) {
			return true
		}
	}
	return false
}

// words are expressions of one kind. Every expression contains one of the hints, so that most texts are skipped
// quickly. Matches of except are removed first.
type words struct {
	hints       []string
	are, except *regexp.Regexp
}

func (w *words) in(text string) bool {
	return hasAny(text, w.hints...) && w.are.MatchString(text) && (w.except == nil || w.are.MatchString(w.except.ReplaceAllString(text, " ")))
}

// Words of a request, except thanks for an earlier one, or for what was done.
var (
	requestWords = words{
		[]string{"줘", "주세요", "줄", "주십시오", "주시", "주실", "주면", "처리해", "부탁", "요청", "please", " you ", "let me know"},
		regexp.MustCompile(`[해봐]\s?(?:줘|주세요|줄래|주십시오|주시|주실|주면|줄\s?수)|처리해` +
			`|부탁\s?(?:해|드|합니다|$)|요청\s?(?:드립니다|합니다)` +
			`|(?:만들어|보내|알아봐|고쳐|도와|찾아|적어|올려|써|짜|골라|바꿔|돌려|읽어|열어|옮겨|지워|넣어|붙여|넘겨|채워|풀어|보여)` +
			`\s?(?:줘|주세요|줄래|주십시오|주시|주실|주면|줄\s?수)` +
			`|^[\s"'(*>-]*please\b|\b(?:can|could|would|will) you (?:\w+ )?please\b|\b(?:can|could|would|will) you (?:complete|finish|get \w+(?: \w+)? done)\b` +
			`|\b(?:need|want|like) you to\b|\blet me know\b`),
		regexp.MustCompile(`[가-힣]\s?(?:줘서|주셔서)|처리해(?:서|도)|처리해\s?(?:두었|뒀|놓았|놨|왔|냈|드렸|봤|주셨|주신)` +
			`|부탁\s?(?:드린|드렸|해서|했)|\bplease (?:note|be advised|be aware|find (?:attached|enclosed))\b`),
	}
	// commandWords are commands unless the sentence is a question.
	commandWords = words{
		[]string{"하세요", "하십시오", "하시", "바랍니다", "할", "하도록", "해", "하라", "please", "be completed", "be finished", "be done"},
		regexp.MustCompile(`(?:완료|마무리|진행|작성|분석|검토|수정|생성|처리|확인|정리|조사|구현|배포|보고|준비|제출)(?:을|를)?\s?` +
			`(?:하세요|하십시오|하시기|하시길|바랍니다|할\s?것|하도록\s?(?:해|하세요|하십시오)|해야\s?(?:해|합니다|돼|됩니다)|(?:해|해라|하라)$)` +
			`|\bplease\b|\b(?:needs? to|must|should|has to|have to) be (?:completed|finished|done)\b`),
		requestWords.except,
	}
	// firstWords begin a command.
	firstWords = regexp.MustCompile(`^[\s"'(*>-]*(?:[\w-]+[,:] )?(?:(?:complete|finish) \w` +
		`|(?:do|look|handle|write|analy[sz]e|review|fix|create|make|send|find|check|update|implement|investigate|prepare|test|run|add|remove|get|verify` +
		`|summari[sz]e|translate|explain|describe|give|show|list|compare|deploy|build|merge|draft|refactor|document) (?:why|how|whether|what|which` +
		`|the|this|that|these|those|it|them|all|every|your|our|my|an?|into|at|out|sure|me|us)\b)`)
)

func (s *sentence) requests() bool {
	return requestWords.in(s.text) || !s.question && (firstWords.MatchString(s.text) || commandWords.in(s.text))
}

// resultWords indicate a result, except one still to come.
var resultWords = words{
	[]string{"완료", "끝", "마쳤", "보고", "결과", "completed", "finished", "done"},
	regexp.MustCompile(`작업.*완료|완료\s?(?:했|됐|되었|하였|$)|(?:끝났|끝냈|마쳤)(?:습니다|어요|다|음)?$|결과.*보고|분석.*결과|\b(?:completed|finished|done)\b`),
	regexp.MustCompile(`미완료|완료\s?(?:되면|하면|될|할|되지|하지|예정|까지)|완료\s?(?:했|됐|되었|하였)는지|(?:^|\s)(?:안|못)\s?(?:끝났|끝냈|마쳤)|보고\s?(?:하겠|할|드리겠)` +
		`|\b(?:when|once|if|until|till|whether|unless|as soon as)\b[^,;]*` +
		`|\b(?:not|never|isn['’]t|aren['’]t|wasn['’]t|hasn['’]t|haven['’]t) (?:\w+ )?(?:completed|finished|done)\b|\bto be (?:completed|finished|done)\b`),
}

func (s *sentence) reports() bool {
	return !s.question && resultWords.in(s.text) && !questionWords.in(s.text)
}

// consultWords indicate joint deliberation, except a statement about the present.
var consultWords = words{
	[]string{"논의", "토론", "설계", "같이", "함께", "의견", "피드백", "리뷰", "검토", "합의", "조율", "상의", "브레인", "let", "together", "brainstorm", "collaborat", "what do"},
	regexp.MustCompile(`논의|토론|설계하자|같이|함께|의견.*(?:줘|들려|말해)|피드백|리뷰|검토|합의|조율|상의|브레인스토밍` +
		`|\blet['’]?s discuss\b|\breview together\b|\bbrainstorm(?:ing)?\b|\bcollaborat(?:e|ing|ion)\b|\bwork together\b|\blet['’]?s figure out\b` +
		`|\bwhat do you think\b`),
	regexp.MustCompile(`(?:다음|아래|위|앞|이|그)[과와]\s?같이|똑같이`),
}

func (s *sentence) consults() bool { return consultWords.in(s.text) }

// questionWords indicate a question, whatever its final punctuation.
var questionWords = words{
	[]string{"어떻게", "어디에", "뭐가", "알려", "나요", "가요", "까요", "니까", "can you", "could you", "tell me"},
	regexp.MustCompile(`어떻게|어디에|뭐가|(?:나요|[인은한는]가요|까요|습니까|입니까|됩니까)$|알려\s?(?:줘|주세요|주십시오|주시|줄래)|\b(?:can|could) you\b|\btell me\b`),
	nil,
}

func asks(all []sentence) bool {
	return len(all) > 0 && all[len(all)-1].question || anyOf(all, func(s *sentence) bool { return questionWords.in(s.text) })
}

func hasAny(text string, parts ...string) bool {
	for _, p := range parts {
		if strings.Contains(text, p) {
			return true
		}
	}
	return false
}
