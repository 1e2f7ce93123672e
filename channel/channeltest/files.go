package channeltest

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/pronto-lab/openclawd/coordination"
)

// maxFile is the limit of one file, in bytes.
const maxFile = 64 << 10

// maxAttempts is more often than a file is requested over kills and failures.
const maxAttempts = 1_000

// uploaded is a message of the person with a file.
type uploaded struct {
	said
	content []byte
}

// uploads has the person send a file to an agent.
func (m *team) uploads(place string, i, size int) uploaded {
	agent, text := m.anyAgent(), fmt.Sprintf("word-%d-", i)
	content := make([]byte, size)
	for j := range content {
		content[j] = byte(m.random.IntN(256))
	}
	id := m.stage.Upload(place, agent, text, fmt.Sprintf("file %d.bin", i), content)
	return uploaded{said{id, place, agent, text}, content}
}

const selectMessages = `SELECT e.data FROM events e WHERE e.type = 'session.message' AND e.data ->> '$.author' = 'user' AND e.data ->> '$.text' LIKE '%' || ? || '%'`

// fetchesFiles: the service fails, connections break, and the program is killed, while it fetches files and posts others. Each file lies beside
// the log when its message reaches the agent, which is told why one is missing that is too large. What is posted stands there once.
func (m *team) fetchesFiles() {
	m.storm = true
	_, place := m.stage.Place()
	guild, posted := m.stage.Place()
	var posts []asked
	all := []uploaded{m.uploads(place, 0, 10)}
	m.until("the first message is decided", func() bool { return m.decided([]said{all[0].said}) })
	for i := range max(m.a.Kills, 2) {
		if m.random.IntN(2) == 0 {
			m.stage.FileTrouble([]Trouble{Refused, NeverOut}[m.random.IntN(2)])
		}
		all = append(all, m.uploads(place, i+1, 1+m.random.IntN(maxFile)))
		if m.random.IntN(2) == 0 {
			m.stage.Trouble(Trouble(m.random.IntN(int(troubles))), m.random.IntN(3))
		}
		if m.random.IntN(2) == 0 {
			posts = append(posts, m.asks(guild, posted, i))
		}
		if m.random.IntN(8) == 0 {
			m.stage.Cut(m.anyAgent())
		}
		if m.random.IntN(2) == 0 {
			m.until("the message is decided", func() bool { return m.decided([]said{all[len(all)-1].said}) })
		}
		m.restart()
	}
	large := m.uploads(place, 1_000_000, maxFile+1)
	var messages []said
	for _, one := range append(all, large) {
		messages = append(messages, one.said)
	}
	m.until("all messages are answered", func() bool { return m.decided(messages) && m.answered(messages) })
	m.until("all deliveries have ended", func() bool {
		return !slices.ContainsFunc(posts, func(one asked) bool { return m.ended(one.effect) == "" })
	})
	m.judgeDecisions(messages)
	m.judgePosts(posted, posts)
	for i := range all {
		m.judgeFile(&all[i])
	}
	told := m.texts(selectMessages, large.text)
	if len(told) != 1 || !strings.Contains(told[0], "not fetched: it is larger than") || strings.Contains(told[0], "sha256") {
		m.Errorf("of a file that is too large the agent is told %q", told)
	}
}

// judgeFile checks that a file lies beside the log, and that the agent's transcript names it once.
func (m *team) judgeFile(one *uploaded) {
	m.Helper()
	told := m.texts(selectMessages, one.text)
	if len(told) != 1 {
		m.Fatalf("%s is in %d messages of transcripts, want one", one.text, len(told))
	}
	var message coordination.SessionMessage
	var blocks []struct {
		Type, Name, SHA256 string
		Bytes              int
	}
	if err := json.Unmarshal([]byte(told[0]), &message); err != nil {
		m.Fatal(err)
	}
	if err := json.Unmarshal(message.Content, &blocks); err != nil || len(blocks) != 2 {
		m.Fatalf("the message is %s, %v, want a text and a file", told[0], err)
	}
	sum := sha256.Sum256(one.content)
	want := hex.EncodeToString(sum[:])
	if b := blocks[1]; b.Type != "file" || b.SHA256 != want || b.Bytes != len(one.content) || !strings.HasSuffix(b.Name, ".bin") {
		m.Errorf("the file is %+v, want %s with %d bytes", b, want, len(one.content))
	}
	if content, err := m.files.Read(want, maxFile); err != nil || string(content) != string(one.content) {
		m.Errorf("%d bytes lie beside the log, %v, want the %d that were sent", len(content), err, len(one.content))
	}
}
