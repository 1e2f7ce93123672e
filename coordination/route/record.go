package route

import (
	"cmp"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/pronto-lab/openclawd/coordination"
	"github.com/pronto-lab/openclawd/coordination/attach"
)

// Record is what observers keep of a message, without its full text.
type Record struct {
	MessageID string   `json:"messageId"`
	Sender    string   `json:"sender"`
	Summary   string   `json:"summary"` // the first SummaryLimit characters on one line, with user names, secrets masked
	At        int64    `json:"ts"`      // ms since 1970
	ChannelID string   `json:"channelId"`
	ThreadID  string   `json:"threadId,omitempty"`
	Mentioned []string `json:"mentionedBots,omitempty"` // agents
	Tokens    Tokens   `json:"extractedTokens,omitzero"`
}

// RecordOf returns the record in a message's event. ts is the event's time, ms since 1970.
func RecordOf(d *coordination.DiscordInbound, ts int64) Record {
	return Record{
		MessageID: d.MessageID, Sender: cmp.Or(d.AuthorName, d.AuthorID), Summary: d.Summary, At: ts, ChannelID: d.ChannelID, ThreadID: d.ThreadID,
		Mentioned: d.MentionedAgents, Tokens: Tokens{Mentions: d.Mentions, URLs: d.URLs, PRs: d.PRs, CodeRefs: d.CodeRefs},
	}
}

// Place is the thread or channel of the message.
func (r *Record) Place() string {
	if r.ThreadID != "" {
		return r.ThreadID
	}
	return r.ChannelID
}

// Tokens are notable items of a message: at most MaxTokens of a kind, each at most 200 characters.
type Tokens struct {
	Mentions []string `json:"mentions,omitempty"` // ids of users
	URLs     []string `json:"urls,omitempty"`     // first those of files, as the API has them
	PRs      []int    `json:"prNumbers,omitempty"`
	CodeRefs []string `json:"codeRefs,omitempty"` // files, with a line where given; functions; words in backticks
}

// Limits of a Record.
const (
	SummaryLimit = 50
	MaxTokens    = 10

	maxToken   = 200
	maxScanned = 16_000 // bytes searched for tokens; more than Discord's limit
)

var (
	urlToken  = regexp.MustCompile(`https?://[!-;=?-~]+`)
	pullToken = regexp.MustCompile(`(?i)(?:\bpull/|(?:^|[^\w<&])(?:pr\s*#?|#))(\d{1,7})\b`)
	codeToken = regexp.MustCompile("(?:[\\w@.-]+/)*[\\w-][\\w.-]*\\." +
		"(?:go|ts|tsx|js|jsx|mjs|cjs|py|rs|rb|java|kt|c|h|cc|cpp|hpp|cs|swift|php|sql|sh|md|json|ya?ml|toml|txt|html|css|proto)(?::\\d+)?\\b|" +
		"\\b[A-Za-z_][\\w.]*\\(\\)|`[A-Za-z_][\\w.:/#-]*`")
)

// record makes the Record of a message. mentions are the user ids mentioned outside of code and quotes.
func record(m *Message, sender string, mentioned, mentions []string, names *coordination.Roster) Record {
	text := m.Text
	if len(text) > maxScanned {
		text = strings.ToValidUTF8(text[:maxScanned], "")
	}
	masked := coordination.Mask(text)
	said := masked
	for i := range m.Files {
		if strings.TrimSpace(masked) == "" {
			said += " [" + m.Files[i].Name + "]"
		}
	}
	return Record{
		MessageID: m.ID, Sender: sender, Summary: summary(said, names), At: m.At, ChannelID: m.ChannelID, ThreadID: m.ThreadID,
		Mentioned: mentioned, Tokens: tokens(masked, mentions, m.Files),
	}
}

// summary is the beginning of a text on one line, with names for ids.
func summary(masked string, names *coordination.Roster) string {
	const enough = 40 * SummaryLimit // bytes; enough even with long mentions
	if len(masked) > enough {
		masked = strings.ToValidUTF8(masked[:enough], "")
	}
	line := strings.Join(strings.Fields(coordination.Clean(masked, names).Text), " ")
	return strings.TrimSpace(coordination.Head(line, SummaryLimit))
}

func tokens(masked string, mentions []string, files []File) (t Tokens) {
	t.Mentions = slices.Clone(mentions[:min(len(mentions), MaxTokens)])
	for i := range files[:min(len(files), MaxTokens)] {
		t.URLs = appendNew(t.URLs, attach.Address(files[i].SHA256, files[i].Name))
	}
	for _, url := range urlToken.FindAllString(masked, -1) {
		if url = trimURL(url); len(url) <= maxToken && len(t.URLs) < MaxTokens {
			t.URLs = appendNew(t.URLs, url)
		}
	}
	for _, found := range pullToken.FindAllStringSubmatch(masked, -1) {
		if n, err := strconv.Atoi(found[1]); err == nil && n > 0 && len(t.PRs) < MaxTokens && !slices.Contains(t.PRs, n) {
			t.PRs = append(t.PRs, n)
		}
	}
	for _, ref := range codeToken.FindAllString(urlToken.ReplaceAllString(masked, " "), -1) {
		if ref = strings.Trim(ref, "`"); len(ref) <= maxToken && len(t.CodeRefs) < MaxTokens {
			t.CodeRefs = appendNew(t.CodeRefs, ref)
		}
	}
	return t
}

// trimURL removes the punctuation of the sentence around a URL.
func trimURL(url string) string {
	for {
		last := url[len(url)-1]
		switch {
		case strings.IndexByte(".,:;!?'\"*_~|`", last) >= 0,
			last == ')' && strings.Count(url, "(") < strings.Count(url, ")"),
			last == ']' && strings.Count(url, "[") < strings.Count(url, "]"):
			url = url[:len(url)-1]
		default:
			return url
		}
	}
}
