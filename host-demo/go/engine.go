package contract

import (
	"context"
	_ "embed"
	"errors"
	"fmt"
	"runtime"
	"sync"

	"github.com/tetratelabs/wazero"
	"github.com/tetratelabs/wazero/api"
)

const (
	// LongestText is the length in bytes above which a text is refused before it reaches the module.
	LongestText = 8 << 20

	// memoryPages limits an instance's memory, in pages of 64 KiB.
	memoryPages = 16 << 20 / (64 << 10)

	// largestMemory is the size in bytes above which an instance is not kept.
	largestMemory = 8 << 20

	// callsPerInstance bounds whatever an instance might gather.
	callsPerInstance = 100_000

	exported = "retort:contract/json@0.1.0#"
)

//go:embed retort.core.wasm
var core []byte

var errFault = errors.New("the contract's module failed")

// engine runs the functions of the core module, in as many instances as are called at the same time. It keeps the
// idle ones, but none that trapped, served long or has grown.
type engine struct {
	runtime  wazero.Runtime
	compiled wazero.CompiledModule
	idle     chan *instance
}

// instance is one instance of the core module; one call at a time.
type instance struct {
	module    api.Module
	allocate  api.Function
	functions map[string]function
	calls     int
	stack     [4]uint64
}

// function is one of the interface's, with what releases its answer.
type function struct{ run, release api.Function }

var compiled = sync.OnceValues(func() (*engine, error) { return newEngine(context.Background(), core) })

func newEngine(ctx context.Context, module []byte) (*engine, error) {
	config := wazero.NewRuntimeConfig().WithMemoryLimitPages(memoryPages)
	machine := wazero.NewRuntimeWithConfig(ctx, config)
	code, err := machine.CompileModule(ctx, module)
	if err != nil {
		return nil, fmt.Errorf("%w: it does not compile", errFault)
	}
	return &engine{runtime: machine, compiled: code, idle: make(chan *instance, runtime.GOMAXPROCS(0))}, nil
}

// call is one text in, one text out. Whatever goes wrong is errFault; the next call meets another instance.
func (e *engine) call(name string, text *string) (output string, err error) {
	if text != nil && len(*text) > LongestText {
		return "", fmt.Errorf("%w: the text is too long", errFault)
	}
	// An error is often judged because its context has ended, which must not end the judging.
	ctx := context.Background()
	instance, err := e.take(ctx)
	if err != nil {
		return "", err
	}
	output, err = instance.call(ctx, name, text)
	if err != nil || instance.calls >= callsPerInstance || instance.module.Memory().Size() > largestMemory {
		_ = instance.module.Close(ctx)
		return output, err
	}
	select {
	case e.idle <- instance:
	default:
		_ = instance.module.Close(ctx)
	}
	return output, nil
}

func (e *engine) take(ctx context.Context) (*instance, error) {
	select {
	case instance := <-e.idle:
		return instance, nil
	default:
	}
	module, err := e.runtime.InstantiateModule(ctx, e.compiled, wazero.NewModuleConfig().WithName("").WithStartFunctions())
	if err != nil {
		return nil, fmt.Errorf("%w: it cannot be instantiated", errFault)
	}
	allocate := module.ExportedFunction("cabi_realloc")
	return &instance{module: module, allocate: allocate, functions: map[string]function{}}, nil
}

// function looks an export up once per instance; nothing where it is missing.
func (i *instance) function(name string) function {
	found, isKnown := i.functions[name]
	if !isKnown {
		found = function{i.module.ExportedFunction(exported + name), i.module.ExportedFunction("cabi_post_" + exported + name)}
		i.functions[name] = found
	}
	return found
}

// call follows the canonical ABI of a string → string function: allocate, write, call, read two numbers, read, release.
func (i *instance) call(ctx context.Context, name string, text *string) (string, error) {
	i.calls++
	function := i.function(name)
	if function.run == nil || function.release == nil || i.allocate == nil {
		return "", fmt.Errorf("%w: it has no function %s", errFault, name)
	}
	memory := i.module.Memory()
	if text != nil {
		i.stack = [4]uint64{0, 0, 1, uint64(len(*text))}
		if err := i.allocate.CallWithStack(ctx, i.stack[:]); err != nil {
			return "", fmt.Errorf("%w in cabi_realloc", errFault)
		}
		pointer := uint32(i.stack[0])
		if !memory.WriteString(pointer, *text) {
			return "", fmt.Errorf("%w: its memory is too small", errFault)
		}
		i.stack[0], i.stack[1] = uint64(pointer), uint64(len(*text))
	}
	if err := function.run.CallWithStack(ctx, i.stack[:]); err != nil {
		return "", fmt.Errorf("%w in %s", errFault, name)
	}
	result := i.stack[0]
	start, hasStart := memory.ReadUint32Le(uint32(result))
	length, hasLength := memory.ReadUint32Le(uint32(result) + 4)
	output, isWhole := memory.Read(start, length)
	if !hasStart || !hasLength || !isWhole {
		return "", fmt.Errorf("%w: its answer lies outside its memory", errFault)
	}
	copied := string(output)
	i.stack[0] = result
	if err := function.release.CallWithStack(ctx, i.stack[:]); err != nil {
		return "", fmt.Errorf("%w in cabi_post_%s", errFault, name)
	}
	return copied, nil
}
