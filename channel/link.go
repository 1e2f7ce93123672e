package channel

import (
	"fmt"
	"strings"
)

const invisible = "\u2060"

// Link is a named link as the log has it: Markdown whose label does not end the link early, so that it cannot show another
// target, and of which no part looks like a mention.
func Link(label, address string) string {
	label = strings.Join(strings.Fields(label), " ")
	label = strings.NewReplacer(`\`, `\\`, "[", `\[`, "]", `\]`, "<@", "<"+invisible+"@").Replace(label)
	return "[" + label + "](" + encoded(address) + ")"
}

// encoded is an address in which nothing ends a link in Markdown.
func encoded(address string) string {
	var b strings.Builder
	for i := range len(address) {
		if c := address[i]; c <= ' ' || c == 0x7f || strings.IndexByte("()<>[]\"'`\\|", c) >= 0 {
			fmt.Fprintf(&b, "%%%02X", c)
		} else {
			b.WriteByte(c)
		}
	}
	return b.String()
}
