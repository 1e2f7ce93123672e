package slack

import (
	"context"
	"io"
	"net/http"
	"net/url"
	"path"
	"strings"

	"github.com/pronto-lab/openclawd/channel"
	"github.com/pronto-lab/openclawd/coordination"
)

// fileHost is where Slack keeps files. It is the only host besides the API's to which a token is sent.
const fileHost = "files.slack.com"

// isFile reports whether an address is that of a file on Slack's own host, or on the server that stands for it.
func (b *Apps) isFile(address string) bool {
	u, err := url.Parse(address)
	if err != nil || u.User != nil || u.Host == "" {
		return false
	}
	if r, is := b.o.Transport.(*redirect); is {
		return u.Host == r.host && u.Scheme == r.scheme
	}
	return u.Scheme == "https" && u.Host == fileHost
}

// fileRef is the address by which a file is fetched; "" if it lies elsewhere, as those of other services do.
func (b *Apps) fileRef(f *fileShape) string {
	for _, address := range []string{f.Download, f.Private} {
		if b.isFile(address) {
			return address
		}
	}
	return ""
}

// Fetch implements channel.Fetcher. It needs the scope files:read.
func (b *Apps) Fetch(ctx context.Context, account, ref string, w io.Writer) error {
	const deed = "fetch a file"
	if !b.isFile(ref) {
		return channel.Local(deed, account, "", http.StatusForbidden, channel.ErrForeignFile, "")
	}
	own := b.app(account)
	if own == nil {
		return channel.NoBot(coordination.Slack, deed, account, "")
	}
	r, err := own.wire.file(ctx, ref)
	if err != nil {
		return channel.Local(deed, account, "", http.StatusForbidden, err, "")
	}
	return channel.Download(signIn{b.o.Transport}, r, deed, account, w)
}

// signIn refuses the page on which people sign in. Slack answers with it, or leads to it, where a token has no right to a file.
type signIn struct{ http.RoundTripper }

func (s signIn) RoundTrip(r *http.Request) (*http.Response, error) {
	response, err := s.RoundTripper.RoundTrip(r)
	if err == nil && response.StatusCode == http.StatusOK && strings.HasPrefix(response.Header.Get("Content-Type"), "text/html") && !strings.HasPrefix(path.Ext(r.URL.Path), ".htm") {
		response.StatusCode = http.StatusForbidden
	}
	return response, err
}
