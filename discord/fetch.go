package discord

import (
	"context"
	"errors"
	"io"
	"net/http"
	"net/url"
	"slices"

	"github.com/pronto-lab/openclawd/channel"
	"github.com/pronto-lab/openclawd/coordination"
)

// fileHosts are where Discord keeps files of messages. Their addresses are signed, so no token is sent there.
var fileHosts = []string{"cdn.discordapp.com", "media.discordapp.net"}

// fileAddress is the address of a file; false if it does not lie with Discord.
func fileAddress(ref string) (*url.URL, bool) {
	u, err := url.Parse(ref)
	return u, err == nil && u.Scheme == "https" && u.User == nil && u.Port() == "" && slices.Contains(fileHosts, u.Hostname())
}

// Fetch implements channel.Fetcher. An address is valid for about a day, then Discord answers that there is no such file.
func (b *Bots) Fetch(ctx context.Context, account, ref string, w io.Writer) error {
	const deed = "fetch a file"
	u, ours := fileAddress(ref)
	if !ours {
		return channel.Local(deed, account, "", http.StatusForbidden, channel.ErrForeignFile, "")
	}
	if b.bot(account) == nil {
		return channel.NoBot(coordination.Discord, deed, account, "")
	}
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, u.String(), http.NoBody)
	if err != nil {
		return channel.Local(deed, account, "", http.StatusForbidden, errors.New("the file's address cannot be requested"), "")
	}
	r.Header.Set("User-Agent", b.o.UserAgent)
	return channel.Download(b.o.Transport, r, deed, account, w)
}
