package coordination

import (
	"crypto/sha256"
	"encoding/hex"
)

// FileStreams begins the names of the streams of file.changed: one per file.
const FileStreams = "file/"

// FileStream is the stream of the changes of a file, whose path is relative to the state directory.
func FileStream(path string) string {
	if len(path) <= maxStreamID {
		return FileStreams + path
	}
	sum := sha256.Sum256([]byte(path))
	return FileStreams + "sha256:" + hex.EncodeToString(sum[:])
}
