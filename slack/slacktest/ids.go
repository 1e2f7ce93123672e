package slacktest

import (
	"crypto/rand"
	"encoding/hex"
	"fmt"
	"strconv"
	"strings"
)

// id returns a new id in Slack's form: a letter for the kind, then digits and capital letters. The lock is held.
func (s *Server) id(kind string) string {
	s.made++
	return kind + "0" + fmt.Sprintf("%08s", strings.ToUpper(strconv.FormatInt(s.made, 36)))
}

// stamp returns a new timestamp, ascending. The lock is held.
func (s *Server) stamp() string {
	s.last = max(s.o.Now().UnixMicro(), s.last+1)
	return fmt.Sprintf("%d.%06d", s.last/1e6, s.last%1e6)
}

// secret returns a random text that nothing else contains.
func secret(bytes int) string {
	b := make([]byte, bytes)
	_, _ = rand.Read(b) // never fails
	return hex.EncodeToString(b)
}

// uuid returns a random id of an envelope or of a person's message.
func uuid() string {
	h := secret(16)
	return h[:8] + "-" + h[8:12] + "-" + h[12:16] + "-" + h[16:20] + "-" + h[20:]
}
