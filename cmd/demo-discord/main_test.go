package main

import (
	"context"
	"fmt"
	"os"
	"testing"

	"go.uber.org/goleak"

	"github.com/pronto-lab/openclawd/cmd/openclawd/apiclient"
)

func TestMain(m *testing.M) {
	if len(os.Args) == 5 && os.Args[1] == "why" && os.Args[3] == "--state-dir" {
		os.Exit(standIn(os.Args[2], os.Args[4]))
	}
	goleak.VerifyTestMain(m)
}

// standIn answers in the place of openclawd why: it tells the text of the message.
func standIn(messageID, stateDir string) int {
	place := apiclient.PlaceOf(stateDir, "", "", true, func(string) string { return "" })
	r, err := place.Routing(context.Background(), messageID)
	if err != nil {
		fmt.Println(err)
		return 1
	}
	fmt.Printf("message %s is told of: %s\n", messageID, r.Message.Text)
	return 0
}
