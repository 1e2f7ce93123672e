package client

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"unicode/utf8"

	"github.com/pronto-lab/openclawd/gateway/protocol"
	"github.com/pronto-lab/openclawd/internal/output"
)

// maxArguments is the space for arguments in a gateway frame, in bytes.
const maxArguments = protocol.MaxPayload - 64<<10

// ReadArguments reads the arguments of a tool as people give them to a command: literal text, @ and a file name, or - for standard input.
func ReadArguments(text string, stdin io.Reader) (json.RawMessage, error) {
	where := "the second argument"
	read := []byte(text)
	file, isFile := strings.CutPrefix(text, "@")
	var err error
	switch {
	case text == "-":
		where = "standard input"
		read, err = readLimited(stdin)
	case isFile:
		where = file
		read, err = readFile(file)
	}
	if err != nil {
		return nil, fmt.Errorf("read arguments: %w", err)
	}
	if len(read) > maxArguments {
		return nil, fmt.Errorf("%s is too long: the gateway's limit is %s", output.Printable(where), output.Bytes(maxArguments))
	}
	var object map[string]json.RawMessage
	err = json.Unmarshal(read, &object)
	var syntax *json.SyntaxError
	var other *json.UnmarshalTypeError
	switch {
	case errors.As(err, &syntax):
		line, column := position(read, syntax.Offset)
		err = fmt.Errorf("line %d, column %d: %w", line, column, err)
	case errors.As(err, &other):
		err = fmt.Errorf("it is of type %s", other.Value)
	case object == nil:
		err = errors.New("it is null")
	}
	if err != nil {
		return nil, fmt.Errorf("%s is not a JSON object: %w", output.Printable(where), err)
	}
	return bytes.TrimSpace(read), nil
}

// readLimited reads just enough to detect excess.
func readLimited(from io.Reader) ([]byte, error) {
	return io.ReadAll(io.LimitReader(from, maxArguments+1))
}

func readFile(name string) ([]byte, error) {
	file, err := os.Open(name)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	return readLimited(file)
}

// position converts a byte offset of a text to line and column, from 1, in characters.
func position(text []byte, read int64) (line, column int) {
	before := text[:max(min(read, int64(len(text)))-1, 0)]
	line = 1 + bytes.Count(before, []byte("\n"))
	return line, 1 + utf8.RuneCount(before[bytes.LastIndexByte(before, '\n')+1:])
}
