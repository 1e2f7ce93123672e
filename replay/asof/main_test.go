package asof_test

import (
	"testing"

	"github.com/pronto-lab/openclawd/eventstore/storetest"
)

func TestMain(m *testing.M) { storetest.CrashMain(m, keepingStates) }
