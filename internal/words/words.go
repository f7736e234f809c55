// Package words refuses requests with an unknown word: if a misspelt "dry run" were
// taken for the default, the call would act.
package words

import (
	"fmt"
	"reflect"
	"slices"
	"strings"

	"github.com/croft-sh/croft"
)

// knownWords returns the words that requests choose between, by their type. The empty
// word is the default of each type.
func knownWords() map[reflect.Type][]string {
	return map[reflect.Type][]string{
		reflect.TypeFor[croft.AfterMerge](): {string(croft.AfterKeep)},
		reflect.TypeFor[croft.AgentNeed](): {
			string(croft.NeedAnswer), string(croft.NeedPermission), string(croft.NeedCredentials), string(croft.NeedResource), string(croft.NeedLimit),
		},
		reflect.TypeFor[croft.AgentState](): {
			string(croft.AgentStarting), string(croft.AgentWorking), string(croft.AgentWaiting), string(croft.AgentIdle), string(croft.AgentEnded), string(croft.AgentUnknown),
		},
		reflect.TypeFor[croft.Applied]():     {string(croft.AppliedHidden)},
		reflect.TypeFor[croft.ApproveMode](): {string(croft.ApproveWithdraw)},
		reflect.TypeFor[croft.BranchMode]():  {string(croft.BranchKeep)},
		reflect.TypeFor[croft.Carry]():       {string(croft.CarryDirty)},
		reflect.TypeFor[croft.CommandSet]():  {string(croft.OfSetup)},
		reflect.TypeFor[croft.Condition]():   wordsOf(croft.Conditions()),
		reflect.TypeFor[croft.Context]():     {string(croft.ContextNone)},
		reflect.TypeFor[croft.Detail]():      {string(croft.DetailHunks), string(croft.DetailStat)},
		reflect.TypeFor[croft.DriveUntil]():  {string(croft.UntilStopped)},
		reflect.TypeFor[croft.DryRun]():      {string(croft.DryRunOn)},
		reflect.TypeFor[croft.PoolAct]():     {string(croft.PoolTopUp), string(croft.PoolEmpty)},
		reflect.TypeFor[croft.EndMode]():     {string(croft.EndForce)},
		reflect.TypeFor[croft.Fetch]():       {string(croft.FetchFirst)},
		reflect.TypeFor[croft.FixMode]():     {string(croft.FixAll)},
		reflect.TypeFor[croft.Follow]():      {string(croft.FollowNew)},
		reflect.TypeFor[croft.From]():        {string(croft.FromNow)},
		reflect.TypeFor[croft.Asks]():        {string(croft.AsksPerson)},
		reflect.TypeFor[croft.GoneMode]():    {string(croft.GoneForGood)},
		reflect.TypeFor[croft.ImportMode]():  {string(croft.ImportShow), string(croft.ImportAll)},
		reflect.TypeFor[croft.LeaseMode]():   {string(croft.LeaseExclusive)},
		reflect.TypeFor[croft.LeaseTerm]():   {string(croft.TermProcess)},
		reflect.TypeFor[croft.MountPlace]():  {string(croft.InSandbox)},
		reflect.TypeFor[croft.Maker]():       {string(croft.MakerCaller)},
		reflect.TypeFor[croft.MergePolicy](): {string(croft.MergeAlways), string(croft.MergeNever)},
		reflect.TypeFor[croft.MergeStatus](): {
			string(croft.MergePending), string(croft.MergeMerged), string(croft.MergeDiscarded), string(croft.MergeReverted),
		},
		reflect.TypeFor[croft.Mode](): {
			string(croft.ModeAuto), string(croft.ModeWorktree), string(croft.ModeIsolated), string(croft.ModeLegacy),
		},
		reflect.TypeFor[croft.RunEnd]():          {string(croft.RunDone), string(croft.RunFailed), string(croft.RunKilled), string(croft.RunLost)},
		reflect.TypeFor[croft.RunWork]():         {string(croft.WorkFinished), string(croft.WorkFailed)},
		reflect.TypeFor[croft.RunFinish]():       {string(croft.FinishNever)},
		reflect.TypeFor[croft.Outcome]():         {string(croft.Succeeded), string(croft.Failed), string(croft.Killed)},
		reflect.TypeFor[croft.ProvisionMode]():   {string(croft.ProvisionAgain), string(croft.ProvisionRefresh), string(croft.ProvisionSteps)},
		reflect.TypeFor[croft.PortsMode]():       {string(croft.PortsMove)},
		reflect.TypeFor[croft.PullRequestMode](): {string(croft.PullRequestOpen)},
		reflect.TypeFor[croft.QueueMode]():       {string(croft.QueueJoin)},
		reflect.TypeFor[croft.QueueAction](): {
			string(croft.QueueHold), string(croft.QueueRelease), string(croft.QueueCancel), string(croft.QueueFirst),
		},
		reflect.TypeFor[croft.RemoveMode]():   {string(croft.RemoveForce)},
		reflect.TypeFor[croft.RestoreMode]():  {string(croft.RestoreCommits)},
		reflect.TypeFor[croft.RoleFiles]():    {string(croft.RoleFilesSkip)},
		reflect.TypeFor[croft.RoleMode]():     {string(croft.RoleReplace)},
		reflect.TypeFor[croft.Scope]():        {string(croft.ScopeAll)},
		reflect.TypeFor[croft.SessionTurn]():  {string(croft.SessionBegins), string(croft.SessionLeaves)},
		reflect.TypeFor[croft.SessionState](): {string(croft.SessionOpen), string(croft.SessionEnded)},
		reflect.TypeFor[croft.Side]():         {string(croft.SideBase), string(croft.SideTarget)},
		reflect.TypeFor[croft.State](): {
			string(croft.Creating), string(croft.Ready), string(croft.Stopped), string(croft.Trashed), string(croft.Broken),
		},
	}
}

func wordsOf[S ~string](list []S) []string {
	out := make([]string, len(list))
	for i, s := range list {
		out[i] = string(s)
	}
	return out
}

// maxMessage is how many bytes the message of a commit has at most that a request gives.
const maxMessage = 64 << 10

// Check fails with InvalidRequest if a field of a request, such as a croft.Mode, has a
// value that is not one of its type's constants, or if its Message is longer than a commit's
// should be: it is kept in records that lists read.
func Check(req any) error { return check(reflect.ValueOf(req)) }

func check(v reflect.Value) error {
	switch v.Kind() {
	case reflect.Struct:
		for i := range v.NumField() {
			if !v.Type().Field(i).IsExported() {
				continue
			}
			if err := check(v.Field(i)); err != nil {
				return err
			}
			if f := v.Field(i); v.Type().Field(i).Name == "Message" && f.Kind() == reflect.String && f.Len() > maxMessage {
				return &croft.Error{Code: croft.InvalidRequest, Message: fmt.Sprintf("the message has %d bytes; at most %d are taken", f.Len(), maxMessage)}
			}
		}
	case reflect.Slice:
		for i := range v.Len() {
			if err := check(v.Index(i)); err != nil {
				return err
			}
		}
	case reflect.String:
		if v.Len() == 0 || v.Type() == reflect.TypeFor[string]() {
			return nil
		}
		list, ok := knownWords()[v.Type()]
		if ok && !slices.Contains(list, v.String()) {
			return &croft.Error{
				Code: croft.InvalidRequest, Message: fmt.Sprintf("there is no %s %q", v.Type().Name(), v.String()), Details: strings.Join(list, ", "),
			}
		}
	}
	return nil
}
