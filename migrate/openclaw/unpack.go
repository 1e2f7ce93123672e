package openclaw

import (
	"bytes"
	"fmt"
	"io"

	"github.com/klauspost/compress/zstd"
)

// maxWindow bounds what the decompression of one text keeps in memory, in bytes.
const maxWindow = 64 << 20

// unpacking decompresses what OpenClaw has compressed with zstd, while it is read.
func unpacking(packed io.Reader) (*zstd.Decoder, error) {
	return zstd.NewReader(packed, zstd.WithDecoderConcurrency(1), zstd.WithDecoderMaxMemory(maxWindow))
}

// unpack decompresses a text of at most that many bytes.
func unpack(packed []byte, most int) ([]byte, error) {
	in, err := unpacking(bytes.NewReader(packed))
	if err != nil {
		return nil, err
	}
	defer in.Close()
	text, err := io.ReadAll(io.LimitReader(in, int64(most)+1))
	if err == nil && len(text) > most {
		err = fmt.Errorf("it has more than %d bytes", most)
	}
	return text, err
}
