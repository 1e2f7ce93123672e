package work

import (
	"strings"

	"github.com/pronto-lab/openclawd/coordination"
)

// maxErrorText limits how many bytes of an error are searched for secrets before it is cut.
const maxErrorText = 16 << 10

// Tidy prepares an error's text for an event: bounded, and without secrets.
func Tidy(text string) string {
	text = strings.ReplaceAll(text[:min(len(text), maxErrorText)], "\x00", "")
	text = coordination.Mask(strings.ToValidUTF8(text, "\uFFFD"))
	return strings.ToValidUTF8(coordination.Clip(text, maxError), "")
}
