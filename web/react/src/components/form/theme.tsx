"use client";

import {
  ariaDescribedByIds,
  errorId,
  getInputProps,
  type ArrayFieldItemTemplateProps,
  type BaseInputTemplateProps,
  type EnumOptionsType,
  type FieldErrorProps,
  type IconButtonProps,
  type RJSFSchema,
  type RegistryWidgetsType,
  type TemplatesType,
  type TitleFieldProps,
  type UnsupportedFieldProps,
  type WidgetProps,
} from "@rjsf/utils";
import CheckboxesWidget from "@rjsf/core/lib/components/widgets/CheckboxesWidget.js";
import SelectWidget from "@rjsf/core/lib/components/widgets/SelectWidget.js";
import { useLayoutEffect, useMemo, type ChangeEvent } from "react";
import { asRecord, asText, equalJson } from "../../core/json.js";
import { plainText } from "../PlainText.js";
import { useNarrowed } from "../useNarrowed.js";
import { FieldFrame } from "./FieldFrame.js";
import { OPTIONS } from "./formSchema.js";
import { MomentWidget } from "./MomentWidget.js";
import { TextWidget } from "./TextField.js";
import { written } from "./written.js";

function BaseInput(props: BaseInputTemplateProps) {
  const { id, htmlName, readonly, disabled, required, options, schema, type } = props;
  const value = props.value as string | number | null | undefined;
  const { onChange, onChangeOverride, rawErrors = [] } = props;
  const input = getInputProps(schema, type as string | undefined, options);
  const change = ({ target }: ChangeEvent<HTMLInputElement>) => {
    onChange(target.value === "" ? options.emptyValue : target.value);
  };
  return (
    <input
      {...input}
      id={id}
      name={htmlName ?? id}
      className="sayso-input"
      value={value ?? ""}
      readOnly={readonly}
      disabled={disabled}
      required={required}
      aria-invalid={rawErrors.length > 0}
      aria-describedby={ariaDescribedByIds(id)}
      onChange={onChangeOverride ?? change}
    />
  );
}

/** Yes, no, or not said yet: a single box could not show the third. */
function YesNo(props: WidgetProps) {
  const { id, label, required, disabled, onChange, rawErrors = [] } = props;
  const value: unknown = props.value;
  const option = (says: boolean, text: string) => (
    <label className="sayso-option">
      <input
        type="radio"
        name={id}
        id={says ? id : `${id}-no`}
        checked={value === says}
        disabled={disabled}
        onChange={() => {
          onChange(says);
        }}
      />
      {text}
    </label>
  );
  return (
    <fieldset
      className="sayso-yesno"
      aria-describedby={ariaDescribedByIds(id)}
      aria-invalid={rawErrors.length > 0}
    >
      <legend>
        {label}
        {required === true && <span className="required">*</span>}
      </legend>
      {option(true, "Yes")}
      {option(false, "No")}
    </fieldset>
  );
}

function FieldErrors({ errors = [], fieldPathId }: FieldErrorProps) {
  const texts = errors.filter((error) => error !== "");
  if (texts.length === 0) return null;
  return (
    <ul id={errorId(fieldPathId)} className="sayso-problems">
      {texts.map((error, index) => (
        <li key={index}>{typeof error === "string" ? plainText(error) : error}</li>
      ))}
    </ul>
  );
}

function ArrayItem({ children, hasToolbar, buttonsProps, registry }: ArrayFieldItemTemplateProps) {
  const { ArrayFieldItemButtonsTemplate } = registry.templates;
  return (
    <div className="sayso-item">
      <div className="sayso-item-field">{children}</div>
      {hasToolbar && (
        <div className="sayso-item-tools">
          <ArrayFieldItemButtonsTemplate {...buttonsProps} />
        </div>
      )}
    </div>
  );
}

function textButton(text: string, name: string) {
  return function TextButton({ id, onClick, disabled }: IconButtonProps) {
    return (
      <button
        type="button"
        id={id}
        className="sayso-button sayso-small"
        aria-label={name}
        disabled={disabled}
        onClick={onClick}
      >
        {text}
      </button>
    );
  };
}

/** The name of a group of fields; one that may be left out as a whole says so. */
function Title({ id, title, required = false, registry }: TitleFieldProps) {
  const { idPrefix } = registry.globalFormOptions;
  const whole = id === `${idPrefix}__title`;
  return (
    <legend id={id}>
      {title}
      {required && <span className="required">*</span>}
      {!required && !whole && <span className="sayso-optional"> (optional)</span>}
    </legend>
  );
}

/** Called by the form when its schema has something that it cannot draw. */
export interface FormContext {
  readonly onUndrawn: () => void;
}

/** Nothing in the library's words: the whole value is written as JSON instead. */
function Unsupported({ registry }: UnsupportedFieldProps) {
  const { onUndrawn } = registry.formContext as FormContext;
  useLayoutEffect(onUndrawn, [onUndrawn]);
  return null;
}

/** How the form library draws what is not worth its default. */
export const templates: Partial<Omit<TemplatesType, "ButtonTemplates">> & {
  ButtonTemplates: Partial<TemplatesType["ButtonTemplates"]>;
} = {
  BaseInputTemplate: BaseInput,
  FieldTemplate: FieldFrame,
  FieldErrorTemplate: FieldErrors,
  TitleFieldTemplate: Title,
  UnsupportedFieldTemplate: Unsupported,
  ArrayFieldItemTemplate: ArrayItem,
  ButtonTemplates: {
    AddButton: textButton("Add", "Add an entry"),
    RemoveButton: textButton("Remove", "Remove this entry"),
    MoveUpButton: textButton("↑", "Move this entry up"),
    MoveDownButton: textButton("↓", "Move this entry down"),
  },
};

/**
 * One of a few is picked from a list, several are ticked: a list for several is hard to use. In a
 * long list one finds them by typing.
 */
function Select(props: WidgetProps) {
  const { schema, multiple, id, label } = props;
  const value: unknown = props.value;
  const enumOption = props.options.enumOptions;
  const options = useMemo(() => labelled(enumOption ?? [], schema), [enumOption, schema]);
  const isChosen = ({ value: one }: EnumOptionsType) =>
    Array.isArray(value) ? value.some((each) => equalJson(each, one)) : equalJson(value, one);
  const { shown, find } = useNarrowed(
    options,
    (enumOptionsType) => enumOptionsType.label,
    isChosen,
    `Find in ${label}`,
    `${id}-find`,
  );
  const named = { ...props, options: { ...props.options, enumOptions: [...shown] } };
  return (
    <>
      {find}
      {multiple === true ? <CheckboxesWidget {...named} /> : <SelectWidget {...named} />}
    </>
  );
}

/** The labels of a list's options. Those of a long list come beside it. */
function labelled(
  options: readonly EnumOptionsType[],
  schema: RJSFSchema,
): readonly EnumOptionsType[] {
  const list = asRecord(schema)?.[OPTIONS] ?? asRecord(schema.items)?.[OPTIONS];
  const titled: readonly unknown[] = Array.isArray(list) ? list : [];
  return options.map((option, index) => {
    const own = asRecord(titled[index]);
    const value: unknown = option.value;
    const unnamed = own === undefined && asRecord(value) !== undefined && schema.enum !== undefined;
    const label = plainText(asText(own?.title) ?? written(unnamed ? value : option.label));
    return own === undefined ? { ...option, label } : { ...option, label, schema: own };
  });
}

export const widgets: RegistryWidgetsType = {
  CheckboxWidget: YesNo,
  SelectWidget: Select,
  TextWidget,
  PasswordWidget: TextWidget,
  EmailWidget: TextWidget,
  URLWidget: TextWidget,
  DateWidget: MomentWidget,
  DateTimeWidget: MomentWidget,
  TimeWidget: MomentWidget,
  "date-time-local": MomentWidget,
  "time-local": MomentWidget,
};
