package demo

import (
	"bytes"
	"fmt"
	"image"
	"image/color"
	"image/png"
)

// file is a file that the person shows an agent.
type file struct {
	name, kind string
	content    []byte
}

// report is a document that would run a script, if the page did not hand it out as a download.
const report = `<!doctype html><title>점검 결과</title><p>실패한 점검은 없습니다.</p><script>document.title = "run"</script>
`

// files are those that the person shows the first agent: a picture and a document.
func files() []file {
	return []file{
		{"screen.png", "image/png", picture()},
		{"report.html", "text/html", []byte(report)},
	}
}

// picture is a picture of 64 by 40 pixels.
func picture() []byte {
	p := image.NewRGBA(image.Rect(0, 0, 64, 40))
	for y := range 40 {
		for x := range 64 {
			p.Set(x, y, color.RGBA{R: uint8(4 * x), G: uint8(6 * y), B: 160, A: 255})
		}
	}
	var b bytes.Buffer
	_ = png.Encode(&b, p) // a buffer takes everything
	return b.Bytes()
}

// showFiles has the person show the first agent the files, so that there are some to open on the page.
func (p *play) showFiles() error {
	for _, f := range files() {
		if err := p.show("@"+cast[0].name+" "+f.name+" 봐줘", f); err != nil {
			return fmt.Errorf("post %s as %s: %w", f.name, human, err)
		}
	}
	return nil
}
