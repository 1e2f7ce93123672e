package telegram

import (
	"context"
	"errors"
	"io"
	"net/http"
	"regexp"
	"strings"

	"github.com/pronto-lab/openclawd/channel"
	"github.com/pronto-lab/openclawd/coordination"
)

// filePath is the form of the paths by which Telegram gives files.
var filePath = regexp.MustCompile(`^[A-Za-z0-9_-][A-Za-z0-9_.-]*(/[A-Za-z0-9_-][A-Za-z0-9_.-]*){0,5}$`)

// errPath is the error of a path in another form: it is not requested, since the token is sent with it.
var errPath = errors.New("the path that Telegram gave for the file has an unknown form")

// Fetch implements channel.Fetcher. Telegram gives bots files of at most 20 MB.
func (b *Bots) Fetch(ctx context.Context, account, ref string, w io.Writer) error {
	const deed = "fetch a file"
	own := b.bot(account)
	if own == nil {
		return channel.NoBot(coordination.Telegram, deed, account, "")
	}
	a, refused := own.ask(ctx, deed, "", fileForm{id: ref})
	switch {
	case refused != nil && strings.Contains(refused.Said, "file is too big"):
		return channel.ErrFileTooLarge
	case refused != nil:
		return refused
	}
	f, err := result[fileShape](deed, account, a)
	if err != nil {
		return err
	}
	if !filePath.MatchString(f.Path) {
		return channel.Local(deed, account, "", http.StatusBadRequest, errPath, "")
	}
	r, err := own.wire.file(ctx, f.Path)
	if err != nil {
		return channel.Local(deed, account, "", http.StatusBadRequest, err, "")
	}
	return channel.Download(b.o.Transport, r, deed, account, w)
}
