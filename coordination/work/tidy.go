package work

import (
	"strings"

	"github.com/pronto-lab/openclawd/coordination"
)

// maxErrorText is how many bytes of an error are looked through for secrets, before it is clipped.
const maxErrorText = 16 << 10

// Tidy makes an error's text fit for an event: bounded, without secrets.
func Tidy(text string) string {
	text = strings.ReplaceAll(text[:min(len(text), maxErrorText)], "\x00", "")
	text = coordination.Mask(strings.ToValidUTF8(text, "\uFFFD"))
	return strings.ToValidUTF8(clip(text), "")
}
